import { replaceIndexes, SqlMigration } from './sql-migration';

/** Changes the index of the skills of an app to the order of their list, including archived skills. */
export class SkillsAppOrder1795460000080 extends SqlMigration {
  protected readonly sql = `
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX new_skills_of_app ON skills (app_id, skill_id) WHERE app_id IS NOT NULL;
    ${replaceIndexes('skills_of_app')}
  `;
}
