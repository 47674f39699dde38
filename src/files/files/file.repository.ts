import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, sql } from '#platform/db';
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

  override list(scope: OrgScope, query: FileListQueryDto): Promise<RowPage<FileEntity>> {
    const { media_type: type } = query;
    return super.list(scope, query, (where) => where.addIndexed(type, (type) => sql`media_type = ${type}`));
  }
}
