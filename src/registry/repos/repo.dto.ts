import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length, MaxLength } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
} from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsDescription, IsName } from '../../resources';
import { REPO_VISIBILITIES, type RepoEntity, type RepoVisibility } from './repo.entity';
import { REPO_URL_MAX } from './repo-url';

@ReadOnlyMembersOf(() => RepoDto)
export class CreateRepoDto {
  @IsString()
  workspace_id!: string;

  /**
   * Its address for https, http, git or ssh, or as scp has it (`git@host:path`). All forms of one repository's address
   * are the same: with or without `.git`, a user, the usual port, and with the host in any case. A password in it is
   * not kept.
   */
  @IsString()
  @Length(1, REPO_URL_MAX)
  url!: string;

  /** The last part of the path unless given. */
  @IsOptional()
  @IsName()
  name?: string | null;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsName()
  default_branch?: string | null;

  @IsOptional()
  @IsOneOf(REPO_VISIBILITIES, { required: false, nullable: true })
  visibility?: RepoVisibility | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => RepoDto)
export class PatchRepoDto {
  /** Only the present one: a repository cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  repo_id?: string;

  /** Where it has moved to, in any form. */
  @NotNull()
  @IsString()
  @Length(1, REPO_URL_MAX)
  url?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsName()
  default_branch?: string | null;

  @IsOptional()
  @IsOneOf(REPO_VISIBILITIES, { required: false, nullable: true })
  visibility?: RepoVisibility | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

export class RepoListQueryDto extends NamedListQueryDto {
  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** Words of the name, the address or the description; the last letters of each may be missing. */
  @NotNull()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** The name, exactly. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  name?: string;

  /** The repository of this address, in any form. */
  @NotNull()
  @IsString()
  @MaxLength(REPO_URL_MAX)
  url?: string;
}

/** A repository that a team's agents, skills and servers come from. */
export class RepoDto {
  repo_id!: string;
  org_id!: string;
  workspace_id!: string;
  /** As `https://host/path`, whichever form it was given in. */
  url!: string;
  name!: string;
  description!: string | null;
  default_branch!: string | null;
  @ApiProperty({ enum: REPO_VISIBILITIES, nullable: true })
  visibility!: RepoVisibility | null;
  @AnyJsonObject()
  metadata!: object;
  /** Raised by every change; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class RepoPageDto {
  items!: RepoDto[];
  page!: PageMetaDto;
}

export const toRepoDto = (row: RepoEntity): RepoDto => ({
  repo_id: row.repo_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  url: row.url,
  name: row.name,
  description: row.description,
  default_branch: row.default_branch,
  visibility: row.visibility,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
