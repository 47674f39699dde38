import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, NotNull, ReadOnlyMembersOf, viewOf, IsImmutable } from '#platform/http';
import { PageOf } from '#platform/paging';
import {
  CreationQueryDto,
  IsFilter,
  IsName,
  MetadataBodyDto,
  MetadataPatchDto,
  OwnedDto,
  OwnedListQueryDto,
  UNVERSIONED_MEMBERS,
} from '../../resources';
import type { FileVersionRow } from './file.entity';

/** The members of a new file, as sent with its upload. */
export class NewFileDto extends MetadataBodyDto {
  @IsString()
  workspace_id!: string;

  @IsOptional()
  @IsName()
  name?: string | null;
}

/** The query of an upload whose body is the file itself. In a form, these are fields. */
export class FileUploadQueryDto extends CreationQueryDto {
  /** The workspace. Required unless the body is a form. */
  @IsFilter()
  workspace_id?: string;

  /**
   * Unique among the workspace's files that are not archived. Defaults to the name of the uploaded file, or else to the
   * file's id.
   */
  @NotNull()
  @IsString()
  @ApiProperty({ required: false, minLength: 1, maxLength: 255 })
  name?: string;

  /** A JSON object of at most 16 KiB. */
  @NotNull()
  @IsString()
  @ApiProperty({ required: false })
  metadata?: string;
}

/** A merge patch (RFC 7396). To change the content, create a version. */
@ReadOnlyMembersOf(() => FileDto)
export class PatchFileDto extends MetadataPatchDto {
  @IsImmutable('Must be the current workspace, because a file cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  file_id?: string;

  @NotNull()
  @IsName()
  name?: string;
}

export class FileListQueryDto extends OwnedListQueryDto {
  /** Words or word prefixes in the name. */
  @IsFilter(1000)
  q?: string;

  /** Only files of this media type, such as `text/csv`. */
  @IsFilter()
  media_type?: string;
}

/** A file, with the content of its newest version. */
export class FileDto extends OwnedDto {
  file_id!: string;
  /** The media type of the upload, without parameters. `application/octet-stream` if the upload has none. */
  media_type!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 0 })
  size_bytes!: number;
  /** SHA-256 of the content, in hexadecimal. */
  sha256!: string;
  @AnyJsonObject()
  metadata!: object;
}

export class FilePageDto extends PageOf(FileDto) {}

/** A version of a file. Versions never change. */
export class FileVersionDto extends OmitType(FileDto, [...UNVERSIONED_MEMBERS, 'metadata']) {
  /** Numbered from 1. Deleted versions leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
  updated_at!: Date;
  /** Always null, because a version cannot be archived on its own. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

export class FileVersionPageDto extends PageOf(FileVersionDto) {}

export const toFileDto = viewOf(FileDto);

export const toFileVersionDto = viewOf(FileVersionDto, (row: FileVersionRow) => ({
  updated_at: row.created_at,
  archived_at: null,
}));
