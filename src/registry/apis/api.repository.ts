import { Injectable } from '@nestjs/common';
import { Database, prepared, raw, sql } from '#platform/db';
import { type ComparedRow, OwnedRepository, sha256Of } from '../../resources';
import { ApiEntity, type ApiVersionRow, CALL_FIELDS, VERSIONED_FIELDS } from './api.entity';

/** The columns of an API that a reconcile compares. Large ones are read as hexadecimal SHA-256 hashes. */
export interface ComparedApi extends ComparedRow, Pick<ApiEntity, (typeof CALL_FIELDS)[number]> {
  description_sha256: string | null;
  headers_sha256: string;
  metadata_sha256: string;
}

/** An API to call. */
export type CalledApi = ApiEntity & { is_workspace_archived: boolean };

@Injectable()
export class ApiRepository extends OwnedRepository<ApiEntity, ApiVersionRow> {
  constructor(database: Database) {
    super(database, ApiEntity, {
      table: 'apis',
      versions: 'api_versions',
      id: 'api_id',
      content: VERSIONED_FIELDS,
      others: ['auth_secret', 'metadata', 'declared_name'],
      declaredName: 'declared_name',
      secrets: ['auth_secret'],
      compared: `${CALL_FIELDS.join(', ')}, ${sha256Of('description')} AS description_sha256,
        ${sha256Of('headers::text')} AS headers_sha256, ${sha256Of('metadata::text')} AS metadata_sha256`,
    });
  }

  /** Returns an API of an organization for a call, archived or not, without an access check. */
  async findTarget(orgId: string, apiId: string): Promise<CalledApi | null> {
    const archived = sql`(SELECT w.archived_at IS NOT NULL FROM workspaces w WHERE w.workspace_id = apis.workspace_id)`;
    const statement = sql`SELECT ${raw(this.columns)}, ${archived} AS is_workspace_archived FROM apis
      WHERE api_id = ${apiId} AND org_id = ${orgId}`;
    const [row] = await this.database.query<CalledApi>(prepared('api.find', statement));
    return row ?? null;
  }
}
