import { replaceIndexes, SqlMigration } from './sql-migration';

/** Changes the index of the agents of an app to the order of their list, including archived agents. */
export class AgentsAppOrder1795460000070 extends SqlMigration {
  protected readonly sql = `
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX new_agents_of_app ON agents (app_id, agent_id) WHERE app_id IS NOT NULL;
    ${replaceIndexes('agents_of_app')}
  `;
}
