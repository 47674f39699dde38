import { ArrayMaxSize, IsArray, IsOptional, IsString, Length } from 'class-validator';
import { ClosedBody, IsJsonObject, IsOneOf, METADATA_MAX_BYTES, Nested } from '#platform/http';
import { IsDescription } from '../../registry';
import { AUTH_TYPES, type AuthType, type Transport, TRANSPORTS } from '../servers/server.entity';
import { AUTH_HEADER_MAX, SERVER_URL_MAX } from '../servers/server-form';
import { TOOLS_MAX } from '../tools/given-tool.dto';

/** Without the secret: a declaration is read by whoever reads the app. */
@ClosedBody()
export class ServerSpecAuthDto {
  @IsOneOf(AUTH_TYPES)
  type!: AuthType;

  @IsOptional()
  @IsString()
  @Length(1, AUTH_HEADER_MAX)
  header?: string | null;
}

/**
 * The spec of a declared server: the members of `CreateServerDto` that an app decides. Another one would be declared in
 * vain, and is refused.
 */
@ClosedBody()
export class ServerSpecDto {
  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsString()
  @Length(1, SERVER_URL_MAX)
  url!: string;

  @IsOptional()
  @IsOneOf(TRANSPORTS)
  transport?: Transport | null;

  @IsOptional()
  @Nested(() => ServerSpecAuthDto)
  auth?: ServerSpecAuthDto | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES })
  metadata?: object | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  tools?: unknown[] | null;
}
