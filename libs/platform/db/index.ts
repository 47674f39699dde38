export { Database } from './database';
export { DatabaseModule, dataSourceOptions } from './database.module';
export type { PreparedStatement, SqlExecutor, Tx } from './executor';
export { JsonColumn } from './json-column';
export { OrgRepository, type OrgRow } from './org-repository';
export { Where } from './where';
export { prefixQuery } from './text-search';
export { WorkspaceRepository, type WorkspaceRow } from './workspace-repository';
