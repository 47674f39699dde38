import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { IsJsonObject, Nested } from '#platform/http';
import { IsName } from '../../resources';
import { PatchServerAuthDto } from '../servers/server-auth.dto';

/** The most bytes of a `server.json`, and of the values of its variables. */
const SERVER_JSON_MAX = 256 * 1024;
const VARIABLES_MAX = 64 * 1024;
const REMOTES_MAX = 1_000;
const VALUE_MAX = 8_192;

/** How the service authenticates to the remote. */
export class ImportServerAuthDto extends PatchServerAuthDto {
  @IsOptional()
  @IsString()
  @Length(1, VALUE_MAX)
  @ApiProperty({
    writeOnly: true,
    description:
      'The value of the header that the remote requires, or of its only variable. Without `type`, the remote decides ' +
      'about type and header. Stored encrypted, and never returned.',
    nullable: true,
    type: String,
    required: false,
  })
  declare value?: string | null;
}

/** A server of the public MCP registry to register. */
export class ImportServerDto {
  @IsString()
  workspace_id!: string;

  @IsJsonObject({
    isRead: true,
    maxBytes: SERVER_JSON_MAX,
    description:
      "A `server.json` of the public MCP registry (schema 2025-12-11). An item of that registry's listing, which wraps it in `server`, is accepted too. Members that the service does not use are ignored.",
  })
  server!: Record<string, unknown>;

  /** The name of the registered server. Default: the last part of the name in `server.json`. */
  @IsOptional()
  @IsName()
  @ApiProperty({ nullable: true, required: false, type: String })
  name?: string | null;

  /** The index of the remote in `remotes`. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(REMOTES_MAX - 1)
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: REMOTES_MAX - 1,
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

  /** Overrides what the remote says if it has a `type`. */
  @IsOptional()
  @Nested(() => ImportServerAuthDto)
  auth?: ImportServerAuthDto | null;
}
