import { SqlMigration } from './sql-migration';

/** The version of the agent that a trace is of. */
export class TelemetryAgentVersions1795459800000 extends SqlMigration {
  protected readonly sql = `
    -- the key is like those of the other values of a trace, after 'agent' or 'service' for where the version comes from
    ALTER TABLE traces ADD COLUMN version_key text COLLATE "C", ADD COLUMN agent_version text COLLATE "C";
  `;
}
