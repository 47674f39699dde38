import { replaceIndexes, SqlMigration } from './sql-migration';

/** The index of the agents of an app is in the order of their list, and contains archived ones. */
export class AgentsAppOrder1795460000070 extends SqlMigration {
  protected readonly sql = `
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX new_agents_of_app ON agents (app_id, agent_id) WHERE app_id IS NOT NULL;
    ${replaceIndexes('agents_of_app')}
  `;
}
