import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, sql, type Tx } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { type ComparedRow, OwnedRepository } from '../../resources';
import type { FileListQueryDto } from './file.dto';
import { CONTENT_FIELDS, FileEntity, type FileVersionRow } from './file.entity';

/** The columns of a file that a reconcile reads. */
export interface ComparedFile extends ComparedRow, Pick<FileEntity, 'sha256' | 'media_type' | 'metadata'> {}

/** Files and their versions. */
@Injectable()
export class FileRepository extends OwnedRepository<FileEntity, FileVersionRow> {
  constructor(database: Database) {
    super(database, FileEntity, {
      table: 'files',
      versions: 'file_versions',
      id: 'file_id',
      content: CONTENT_FIELDS,
      others: ['metadata'],
      compared: 'sha256, media_type, metadata',
    });
  }

  /** Returns the digests of the contents of all versions of a file. */
  async contentsOf(tx: Tx, scope: OrgScope, fileId: string): Promise<string[]> {
    const rows = await tx.query<{ sha256: string }>(
      sql`SELECT DISTINCT sha256 FROM file_versions WHERE file_id = ${fileId} AND org_id = ${scope.orgId}`,
    );
    return rows.map(({ sha256 }) => sha256);
  }

  override list(scope: OrgScope, query: FileListQueryDto): Promise<RowPage<FileEntity>> {
    const { media_type: type } = query;
    return super.list(scope, query, (where) => where.addIndexed(type, (type) => sql`media_type = ${type}`));
  }
}
