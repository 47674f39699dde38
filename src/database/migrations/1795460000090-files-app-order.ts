import { replaceIndexes, SqlMigration } from './sql-migration';

/** Changes the index of the files of an app to the order of their list, including archived files. */
export class FilesAppOrder1795460000090 extends SqlMigration {
  protected readonly sql = `
    -- the reconcile of an app, and the filter app with an id
    CREATE INDEX new_files_of_app ON files (app_id, file_id) WHERE app_id IS NOT NULL;
    ${replaceIndexes('files_of_app')}
  `;
}
