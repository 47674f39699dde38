import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsBoolean, IsOptional, IsString, Length, MaxLength } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  Nested,
  NotNull,
  ValuesCheckedLater,
} from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsDescription, IsName, SYNC_STATES, type SyncState } from '../../registry';
import { GivenToolDto, TOOLS_MAX } from '../tools/given-tool.dto';
import { AUTH_HEADER_MAX, AUTH_VALUE_MAX, SERVER_URL_MAX } from './server-form';
import { AUTH_TYPES, type AuthType, type Transport, TRANSPORTS } from './server.entity';

const IsAuthHeader = (): PropertyDecorator => Length(1, AUTH_HEADER_MAX);
const IsAuthValue =
  (description: string): PropertyDecorator =>
  (target, property) => {
    Length(1, AUTH_VALUE_MAX)(target, property);
    ApiProperty({ writeOnly: true, description, nullable: true, type: String, required: false })(
      target,
      property,
    );
  };

/** How the service shows the server who it is. */
export class ServerAuthDto {
  @IsOneOf(AUTH_TYPES)
  type!: AuthType;

  /** The name of the header that carries the value: of the type `header` alone, which needs it. */
  @IsOptional()
  @IsString()
  @IsAuthHeader()
  header?: string | null;

  @IsOptional()
  @IsString()
  @IsAuthValue('The secret, which all types but `none` need. Kept encrypted, and never answered.')
  value?: string | null;
}

/** Members that are absent stay as they are. */
export class PatchServerAuthDto {
  @NotNull()
  @IsOneOf(AUTH_TYPES, { required: false })
  type?: AuthType;

  @IsOptional()
  @IsString()
  @IsAuthHeader()
  header?: string | null;

  @IsOptional()
  @IsString()
  @IsAuthValue(
    'Another secret. It stays where it is absent, unless the type, the header, or the origin of the address is to be ' +
      'another: then it has to be given again (400), so that it goes to nobody whom it was not meant for.',
  )
  value?: string | null;
}

export class CreateServerDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's servers that are not archived (409). */
  @IsName()
  name!: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** Of `http` or `https`, without a user, a password or a fragment. */
  @IsString()
  @Length(1, SERVER_URL_MAX)
  url!: string;

  @IsOptional()
  @IsOneOf(TRANSPORTS, { required: false, nullable: true, default: 'streamable_http' })
  transport?: Transport | null;

  @IsOptional()
  @Nested(() => ServerAuthDto)
  auth?: ServerAuthDto | null;

  /** That it belongs to the platform rather than to a team: true needs the role admin, also to change it. Can never change. */
  @IsOptional()
  @IsBoolean()
  is_system?: boolean | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  /** What the server is known to offer, until it is asked the first time. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @ApiProperty({ type: () => [GivenToolDto], maxItems: TOOLS_MAX, nullable: true, required: false })
  tools?: unknown[] | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
export class PatchServerDto {
  /** Only the present one: a server cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  server_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @NotNull()
  @IsString()
  @Length(1, SERVER_URL_MAX)
  url?: string;

  @NotNull()
  @IsOneOf(TRANSPORTS, { required: false })
  transport?: Transport;

  /** Null for the type `none`. */
  @IsOptional()
  @Nested(() => PatchServerAuthDto)
  auth?: PatchServerAuthDto | null;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsBoolean()
  is_system?: boolean;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;

  /** All that the server is known to offer; 409 once it was asked itself. Null for nothing. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @ApiProperty({ type: () => [GivenToolDto], maxItems: TOOLS_MAX, nullable: true, required: false })
  tools?: unknown[] | null;
}

export class ServerListQueryDto extends NamedListQueryDto {
  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** Words of the name, the address without its query, or the description; the last letters of each may be missing. */
  @NotNull()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** Those of this name. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  name?: string;

  @NotNull()
  @IsOneOf(TRANSPORTS, { required: false })
  transport?: Transport;

  @NotNull()
  @IsOneOf(SYNC_STATES, { required: false })
  sync_state?: SyncState;

  /** Those that this app declares, by its slug or its id. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  app?: string;
}

/** How the service shows the server who it is, as far as it is told. */
export class ServerAuthViewDto {
  @ApiProperty({ enum: AUTH_TYPES })
  type!: AuthType;
  /** Null unless the type is `header`. */
  header!: string | null;
}

/** The same, with whether there is a secret. */
export class ServerPresentAuthDto extends ServerAuthViewDto {
  /** Whether there is a secret. One that an app declares has none until it is given by a PATCH. */
  has_value!: boolean;
}

/** One version of an MCP server, as it stays. */
export class ServerVersionDto {
  server_id!: string;
  org_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  name!: string;
  description!: string | null;
  url!: string;
  @ApiProperty({ enum: TRANSPORTS })
  transport!: Transport;
  auth!: ServerAuthViewDto;
  created_at!: Date;
  created_by!: string;
}

/** An MCP server that is registered in a workspace. */
export class ServerDto {
  server_id!: string;
  org_id!: string;
  workspace_id!: string;
  name!: string;
  description!: string | null;
  url!: string;
  @ApiProperty({ enum: TRANSPORTS })
  transport!: Transport;
  auth!: ServerPresentAuthDto;
  is_system!: boolean;
  @AnyJsonObject()
  metadata!: object;
  /** The app that declares it; null where none does. */
  app_id!: string | null;
  /** The slug of that app. */
  app!: string | null;
  @ApiProperty({ enum: SYNC_STATES })
  sync_state!: SyncState;
  /** When the server was asked for its tools last; null until then. */
  tools_listed_at!: Date | null;
  /** The number of the present version: of name, description, address, transport, and type and header of `auth`. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  /** Raised by every change; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class ServerPageDto {
  items!: ServerDto[];
  page!: PageMetaDto;
}

export class ServerVersionPageDto {
  items!: ServerVersionDto[];
  page!: PageMetaDto;
}
