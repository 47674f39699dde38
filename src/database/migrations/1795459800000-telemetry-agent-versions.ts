import { SqlMigration } from './sql-migration';

/** The version of the agent that produced a trace. */
export class TelemetryAgentVersions1795459800000 extends SqlMigration {
  protected readonly sql = `
    -- the key is like the keys of the other values of a trace, prefixed with the origin of the version: 'agent' or 'service'
    ALTER TABLE traces ADD COLUMN version_key text COLLATE "C", ADD COLUMN agent_version text COLLATE "C";
  `;
}
