import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { IsJsonObject, IsOneOf, Nested, NotNull, IsWholeNumber } from '#platform/http';
import { IsAuthSecret, IsName } from '../../../resources';
import { AuthFieldsDto } from '../server-auth.dto';
import { AUTH_TYPES, type AuthType } from '../server.entity';

/** The maximum sizes of a `server.json` and of the values of its variables, in bytes. */
const SERVER_JSON_MAX = 256 * 1024;
const VARIABLES_MAX = 64 * 1024;
const REMOTES_MAX = 1_000;

/** How the service authenticates to the remote. Without `type`, the remote determines type and header. */
export class ImportServerAuthDto extends AuthFieldsDto {
  @NotNull()
  @IsOneOf(AUTH_TYPES, { required: false })
  type?: AuthType;

  @IsAuthSecret(
    'The token or key to send in the header of the remote, or the whole value of the header if the remote declares no ' +
      'template. Stored encrypted, and never returned.',
  )
  value?: string | null;

  @IsAuthSecret('The client secret for the type `oauth`. Stored encrypted, and never returned.')
  client_secret?: string | null;
}

/** A server of the public MCP registry to register. */
export class ImportServerDto {
  @IsString()
  workspace_id!: string;

  @IsJsonObject({
    isRead: true,
    maxBytes: SERVER_JSON_MAX,
    description:
      "A `server.json` of the public MCP registry (schema 2025-12-11), or an item of that registry's " +
      'listing, which wraps it in `server`. Members that the service does not use are ignored.',
  })
  server!: Record<string, unknown>;

  /** The name of the registered server. Defaults to the last part of the name in `server.json`. */
  @IsOptional()
  @IsName()
  @ApiProperty({ nullable: true, required: false, type: String })
  name?: string | null;

  /** The index of the remote in `remotes`. */
  @IsOptional()
  @IsWholeNumber({
    minimum: 0,
    maximum: REMOTES_MAX - 1,
    format: 'int32',
    default: 0,
    nullable: true,
    required: false,
  })
  remote?: number | null;

  @IsOptional()
  @IsJsonObject({
    isRead: true,
    maxBytes: VARIABLES_MAX,
    nullable: true,
    required: false,
    description:
      'The values of the variables in the URL and the header of the remote, by name. Each is a string.',
  })
  variables?: Record<string, unknown> | null;

  /** With a `type`, it replaces the authentication that the remote declares. */
  @IsOptional()
  @Nested(() => ImportServerAuthDto)
  auth?: ImportServerAuthDto | null;
}
