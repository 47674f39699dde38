export { Database } from './database';
export { DatabaseModule, dataSourceOptions } from './database.module';
export type { PreparedStatement, SqlExecutor, Tx } from './executor';
export { JsonColumn } from './json-column';
export { Where } from './where';
