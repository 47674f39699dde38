import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { DescribedBodyDto, DescribedPatchDto, IsFilter, IsName, PlacedDto } from '../../resources';
import { REPO_VISIBILITIES, type RepoVisibility } from './repo.entity';
import { REPO_URL_MAX } from './repo-url';

@ReadOnlyMembersOf(() => RepoDto)
export class CreateRepoDto extends DescribedBodyDto {
  @IsString()
  workspace_id!: string;

  /**
   * An https, http, git or ssh URL, or the scp form (`git@host:path`); a password is removed. All forms name the same
   * repository: with or without `.git`, a user or the default port, and with the host in any case.
   */
  @IsText(REPO_URL_MAX)
  url!: string;

  /** Defaults to the last part of the path. */
  @IsOptional()
  @IsName()
  name?: string | null;

  @IsOptional()
  @IsName()
  default_branch?: string | null;

  @IsOptional()
  @IsOneOf(REPO_VISIBILITIES, { required: false, nullable: true })
  visibility?: RepoVisibility | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => RepoDto)
export class PatchRepoDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because a repository cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  repo_id?: string;

  /** The new URL of the repository, in any form. */
  @IsOptionalText(REPO_URL_MAX)
  url?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsName()
  default_branch?: string | null;

  @IsOptional()
  @IsOneOf(REPO_VISIBILITIES, { required: false, nullable: true })
  visibility?: RepoVisibility | null;
}

export class RepoListQueryDto extends NamedListQueryDto {
  /** Only repositories of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Words or word prefixes in the name, URL or description. */
  @IsFilter(1000)
  q?: string;

  /** Only repositories with this name. */
  @IsFilter()
  name?: string;

  /** Only the repository with this URL, in any form. */
  @IsFilter(REPO_URL_MAX)
  url?: string;
}

/** A repository that a team's agents, skills and servers come from. */
export class RepoDto extends PlacedDto {
  repo_id!: string;
  /** `https://host/path`, whatever form was sent. */
  url!: string;
  name!: string;
  description!: string | null;
  default_branch!: string | null;
  @ApiProperty({ enum: REPO_VISIBILITIES, nullable: true })
  visibility!: RepoVisibility | null;
  @AnyJsonObject()
  metadata!: object;
}

export class RepoPageDto extends PageOf(RepoDto) {}

export const toRepoDto = viewOf(RepoDto);
