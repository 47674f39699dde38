import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { IsOptionalText, IsOptionalTime, IsWholeNumber } from '#platform/http';
import { ToBoolean, ToInteger } from '#platform/paging';
import { IsFilter } from '../../resources';

const LIMIT_DEFAULT = 30;
const LIMIT_MAX = 100;

/** The query of one server. */
export class RegistryVersionQueryDto {
  /** Whether to include archived servers, which have the status `deleted`. */
  @IsOptional()
  @IsBoolean()
  @ToBoolean()
  include_deleted?: boolean;
}

export class RegistryPageQueryDto extends RegistryVersionQueryDto {
  @IsOptional()
  @ToInteger()
  @IsWholeNumber({ required: false, format: 'int32', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT })
  limit: number = LIMIT_DEFAULT;

  /** `metadata.nextCursor` of the previous page. */
  @IsOptionalText(2048, 0)
  cursor?: string;
}

export class RegistryListQueryDto extends RegistryPageQueryDto {
  /**
   * Words or word prefixes in the title, the URL without its query, or the description. A server name from this
   * listing is also accepted.
   */
  @IsFilter(1000)
  search?: string;

  /**
   * Only servers that changed at this time or later (RFC 3339), oldest change first. Always includes archived servers.
   */
  @IsOptionalTime()
  updated_since?: string;

  /**
   * Only servers whose latest version is this one, such as `1.0.3`. `latest` means any. Each server is listed once, with
   * its latest version.
   */
  @IsFilter()
  version?: string;

  /** Only servers of this workspace. The public registry does not have this parameter. */
  @IsFilter()
  workspace_id?: string;
}

/** A value that users of the server must provide. */
export class RegistryInputDto {
  description?: string;
  isRequired!: boolean;
  isSecret!: boolean;
}

/** Declares inputs by their names. */
const IsInputs = (): PropertyDecorator =>
  ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(RegistryInputDto) },
    selfRequired: false,
  });

@ApiExtraModels(RegistryInputDto)
export class RegistryHeaderDto extends RegistryInputDto {
  name!: string;
  /** A template with variables in braces. Never contains a secret. */
  value?: string;
  @IsInputs()
  variables?: Record<string, RegistryInputDto>;
}

export class RegistryRemoteDto {
  @ApiProperty({ enum: ['streamable-http', 'sse'] })
  type!: 'streamable-http' | 'sse';
  /** The URL, with variables such as `{query}` in place of the parts of its query, which may contain keys. */
  url!: string;
  headers?: RegistryHeaderDto[];
  @IsInputs()
  variables?: Record<string, RegistryInputDto>;
}

export class RegistryRepositoryDto {
  url!: string;
  source!: string;
}

/** The public registry's server from which a server was imported. */
export class RegistryOriginDto {
  name!: string;
  version!: string;
}

/** The identifiers of the server in this service. */
export class RegistrySourceDto {
  server_id!: string;
  workspace_id!: string;
  version_id!: string;
  /** Null for a server that was not imported. */
  imported_from!: RegistryOriginDto | null;
}

export class RegistryServerMetaDto {
  'io.modelcontextprotocol.registry/publisher-provided'!: RegistrySourceDto;
}

/** A `server.json` in the format of the public MCP registry. */
export class RegistryServerDto {
  $schema!: string;
  /**
   * The reversed host name of the service and the id of the server, such as `com.example.registry/mcps_…`. Changes only
   * if the host of `PUBLIC_URL` changes, not when the server is renamed.
   */
  name!: string;
  title!: string;
  /** The description, cut to 100 characters with `…`. The name if there is no description. */
  description!: string;
  /** `1.0.` followed by the number of the version. */
  version!: string;
  websiteUrl?: string;
  repository?: RegistryRepositoryDto;
  remotes!: RegistryRemoteDto[];
  _meta!: RegistryServerMetaDto;
}

export class RegistryOfficialMetaDto {
  @ApiProperty({ enum: ['active', 'deleted'] })
  status!: 'active' | 'deleted';
  statusChangedAt!: Date;
  publishedAt!: Date;
  updatedAt!: Date;
  isLatest!: boolean;
}

export class RegistryEntryMetaDto {
  'io.modelcontextprotocol.registry/official'!: RegistryOfficialMetaDto;
}

/** A server and its registry metadata. */
export class RegistryEntryDto {
  server!: RegistryServerDto;
  _meta!: RegistryEntryMetaDto;
}

export class RegistryPageMetaDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  count!: number;
  /** Absent on the last page. */
  nextCursor?: string;
}

/** A page of servers. */
export class RegistryPageDto {
  servers!: RegistryEntryDto[];
  metadata!: RegistryPageMetaDto;
}
