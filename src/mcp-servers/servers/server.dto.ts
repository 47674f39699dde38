import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsBoolean, IsOptional, IsString } from 'class-validator';
import {
  AnyJsonObject,
  IsOneOf,
  KeepsJson,
  Nested,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
  IsOptionalText,
  IsText,
} from '#platform/http';
import { PageOf } from '#platform/paging';
import {
  DescribedBodyDto,
  DescribedPatchDto,
  IsFilter,
  IsName,
  OwnedDto,
  OwnedListQueryDto,
  UNVERSIONED_MEMBERS,
} from '../../resources';
import { type ServerEntity, type ServerVersionRow, type Transport, TRANSPORTS } from './server.entity';
import {
  PatchServerAuthDto,
  ServerAuthDto,
  ServerAuthViewDto,
  StoredServerAuthDto,
  toAuthView,
  toStoredAuthView,
  URL_MAX,
} from './server-auth.dto';
import { FAILURE_KINDS, type FailureKind, HEALTH_STATUSES, type HealthStatus } from './server-health';
import { DeclaredToolDto, TOOLS_MAX } from './tool.dto';

/** The members of a new server that an app can also declare. */
export class ServerFieldsDto extends DescribedBodyDto {
  /**
   * An `http` or `https` URL without user, password or fragment. Its query may contain a key, so it is stored encrypted and
   * returned as `?{query}`.
   */
  @IsText(URL_MAX)
  url!: string;

  @IsOptional()
  @IsOneOf(TRANSPORTS, { required: false, nullable: true, default: 'streamable_http' })
  transport?: Transport | null;

  /** The tools of the server, until the server lists its tools itself. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @KeepsJson()
  @ApiProperty({ type: () => [DeclaredToolDto], maxItems: TOOLS_MAX, nullable: true, required: false })
  tools?: unknown[] | null;
}

@ReadOnlyMembersOf(() => ServerDto)
export class CreateServerDto extends ServerFieldsDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's servers that are not archived (409). */
  @IsName()
  name!: string;

  @IsOptional()
  @Nested(() => ServerAuthDto)
  auth?: ServerAuthDto | null;

  /**
   * Whether the server belongs to the platform and not to a team; immutable. Only admins can create and change such servers.
   */
  @IsOptional()
  @IsBoolean()
  is_system?: boolean | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ServerDto)
export class PatchServerDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because a server cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  server_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /**
   * A new URL. A placeholder such as `{query}` keeps the stored part of the query, except for a new origin (400), because
   * secrets are never sent to a new origin.
   */
  @IsOptionalText(URL_MAX)
  url?: string;

  @NotNull()
  @IsOneOf(TRANSPORTS, { required: false })
  transport?: Transport;

  /** Null means the type `none`. */
  @IsOptional()
  @Nested(() => PatchServerAuthDto)
  auth?: PatchServerAuthDto | null;

  /** Immutable (422 for another value). */
  @NotNull()
  @IsBoolean()
  is_system?: boolean;

  /** Replaces the tools; null removes them. Returns 409 once the server has listed its tools itself. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @KeepsJson()
  @ApiProperty({ type: () => [DeclaredToolDto], maxItems: TOOLS_MAX, nullable: true, required: false })
  tools?: unknown[] | null;
}

export class ServerListQueryDto extends OwnedListQueryDto {
  /** Words or word prefixes in the name, the URL without its query, or the description. */
  @IsFilter(1000)
  q?: string;

  @NotNull()
  @IsOneOf(TRANSPORTS, { required: false })
  transport?: Transport;

  @NotNull()
  @IsOneOf(HEALTH_STATUSES, { required: false })
  health?: HealthStatus;
}

/** Why a server cannot be used. */
export class ServerFailureDto {
  @ApiProperty({ enum: FAILURE_KINDS })
  kind!: FailureKind;
  message!: string;
}

/** The result of the last check of a server. Not part of the ETag, which covers only the configuration. */
export class ServerHealthDto {
  /** `unknown` until the first check, and after a change of URL, transport or `auth`. */
  @ApiProperty({ enum: HEALTH_STATUSES })
  status!: HealthStatus;
  checked_at!: Date | null;
  /** Milliseconds from connecting until all tools were listed. Null if the check failed. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0, nullable: true })
  latency_ms!: number | null;
  @ApiProperty({ type: ServerFailureDto, nullable: true })
  error!: ServerFailureDto | null;
}

/**
 * An MCP server registered in a workspace. Its versions cover name, description, URL, transport, and `auth` without its
 * secret.
 */
export class ServerDto extends OwnedDto {
  server_id!: string;
  description!: string | null;
  /**
   * The URL, with placeholders in its query for the parts that are stored encrypted, such as `{query}`. For an imported
   * server, they are the variables of its `server.json`.
   */
  url!: string;
  @ApiProperty({ enum: TRANSPORTS })
  transport!: Transport;
  auth!: StoredServerAuthDto;
  is_system!: boolean;
  @AnyJsonObject()
  metadata!: object;
  /** The app that declares the server, or null. */
  app_id!: string | null;
  /** When the server last listed its tools, or null. */
  tools_listed_at!: Date | null;
  health!: ServerHealthDto;
}

export class ServerPageDto extends PageOf(ServerDto) {}

const WITHOUT_VERSIONS = ['app_id', 'auth', 'is_system', 'metadata', 'tools_listed_at', 'health'] as const;

/** A version of an MCP server. Versions never change. */
export class ServerVersionDto extends OmitType(ServerDto, [...UNVERSIONED_MEMBERS, ...WITHOUT_VERSIONS]) {
  /** Numbered from 1. Deleted versions leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
  auth!: ServerAuthViewDto;
}

export class ServerVersionPageDto extends PageOf(ServerVersionDto) {}

export const toServerDto = viewOf(ServerDto, (row: ServerEntity) => ({
  auth: toStoredAuthView(row),
  health: {
    status: row.health_status,
    checked_at: row.health_checked_at,
    latency_ms: row.health_latency_ms,
    error: row.health_error,
  },
}));

export const toServerVersionDto = viewOf(ServerVersionDto, (row: ServerVersionRow) => ({
  auth: toAuthView(row),
}));
