import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { documentOf, OwnedEntity, type SearchDocument } from '../../resources';

/** A type and a subtype in lower case (RFC 6838, section 4.2). */
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** The default media type. */
export const OCTET_STREAM = 'application/octet-stream';

/** A file of a workspace, with the content of its newest version. `BlobStore` stores the bytes. */
@Entity('files')
export class FileEntity extends OwnedEntity {
  @PrimaryColumn('text')
  file_id!: string;

  @Column('text')
  media_type!: string;

  @Column('bigint')
  size_bytes!: number;

  /** SHA-256 of the bytes, in hexadecimal. */
  @Column('text')
  sha256!: string;

  @JsonColumn()
  metadata!: RawJson;
}

/** The members whose changes create a version. */
export const CONTENT_FIELDS = ['media_type', 'size_bytes', 'sha256'] as const;

export type FileContent = Pick<FileEntity, (typeof CONTENT_FIELDS)[number]>;

/** A stored version of a file. */
export type FileVersionRow = FileContent &
  Pick<
    FileEntity,
    | 'file_id'
    | 'org_id'
    | 'workspace_id'
    | 'name'
    | 'version_ordinal'
    | 'version_id'
    | 'created_at'
    | 'created_by'
  >;

/** The members whose values the audit log shows. */
export const AUDITED_FIELDS = ['name', ...CONTENT_FIELDS] as const;

/** Returns the search document of a file. */
export const toFileDocument = (row: FileEntity): SearchDocument =>
  documentOf('file', row.file_id, { ...row, description: null }, row.media_type);
