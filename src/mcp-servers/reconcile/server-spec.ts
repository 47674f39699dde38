import { IsOptional } from 'class-validator';
import { IsOneOf, Nested } from '#platform/http';
import { toRawJson } from '#platform/json';
import { urlFault } from '#platform/outbound';
import type { FieldError } from '#platform/problem';
import { type Declared, faultsInSpec } from '../../resources';
import { ServerFieldsDto } from '../servers/server.dto';
import { AuthFieldsDto } from '../servers/server-auth.dto';
import {
  type AuthColumns,
  AUTH_TYPES,
  type AuthType,
  type ServerEntity,
  withoutQuery,
} from '../servers/server.entity';
import { SERVER_AUTH } from '../servers/server-auth';
import { HIDDEN_QUERY } from '../servers/server-urls';
import { toolFaults } from '../servers/tool-faults';
import type { DeclaredToolDto } from '../servers/tool.dto';

/** A parsed declaration of a server. */
export interface DeclaredServer {
  /** The columns that the declaration determines. */
  columns: AuthColumns & Pick<ServerEntity, 'name' | 'description' | 'url' | 'transport' | 'metadata'>;
  /** Null means that the tools do not change. */
  tools: readonly DeclaredToolDto[] | null;
}

/** `auth` without the secret, because everyone who can read the app reads its declarations. */
class ServerSpecAuthDto extends AuthFieldsDto {
  @IsOneOf(AUTH_TYPES)
  type!: AuthType;
}

/** The spec of a declared server: the members of `CreateServerDto` that an app can declare. */
export class ServerSpecDto extends ServerFieldsDto {
  @IsOptional()
  @Nested(() => ServerSpecAuthDto)
  auth?: ServerSpecAuthDto | null;
}

/**
 * Returns the validation errors of a spec.
 *
 * @param pointer the JSON pointer of the spec
 */
export function specFaults(spec: Record<string, unknown>, pointer: string): FieldError[] {
  const operation = 'PATCH /mcp/v1/servers/{server_id}';
  const secretFaults = SERVER_AUTH.declaredSecretFaults(spec.auth, `${pointer}/auth`, operation);
  if (secretFaults.length > 0) return secretFaults;
  return faultsInSpec(ServerSpecDto, spec, pointer, ({ url, auth, tools }) => {
    const fault = urlFault(url) ?? declaredQueryFault(url);
    const tokenUrlFault = auth?.token_url == null ? null : declaredQueryFault(auth.token_url);
    return [
      ...(fault === null ? [] : [{ pointer: `${pointer}/url`, detail: fault }]),
      ...(auth ? SERVER_AUTH.faults(auth, `${pointer}/auth`) : []),
      ...(tokenUrlFault === null ? [] : [{ pointer: `${pointer}/auth/token_url`, detail: tokenUrlFault }]),
      ...toolFaults(tools ?? [], `${pointer}/tools`),
    ];
  });
}

/** Everyone who can read the app can read its declarations. */
function declaredQueryFault(url: string): string | null {
  const base = withoutQuery(url);
  if (url === base || url === base + HIDDEN_QUERY) return null;
  return (
    `must not have a query, which may contain a key, because everyone who can read the app can read it. Declare ` +
    `${HIDDEN_QUERY} instead, and send the whole URL with PATCH /mcp/v1/servers/{server_id}`
  );
}

/** Parses a validated declaration. */
export function readDeclared({ name, spec }: Declared): DeclaredServer {
  const { description, url, transport, auth, metadata, tools } = spec as unknown as ServerSpecDto;
  return {
    columns: {
      name,
      description: description ?? null,
      url,
      transport: transport ?? 'streamable_http',
      ...SERVER_AUTH.columns(auth ?? { type: 'none' }),
      metadata: toRawJson(metadata ?? {}),
    },
    tools: (tools as readonly DeclaredToolDto[] | null | undefined) ?? null,
  };
}

/**
 * The maximum number of tools in all servers of an app, because a reconcile holds them in memory and writes them
 * together.
 */
const TOOLS_MAX = 10_000;

/** Returns the errors of validated declarations that exceed a limit together. */
export function combinedSpecFaults(declared: readonly Declared[]): FieldError[] {
  let count = 0;
  for (const { spec, pointer } of declared) {
    count += (spec as unknown as ServerSpecDto).tools?.length ?? 0;
    if (count <= TOOLS_MAX) continue;
    const detail = `exceeds the limit of ${TOOLS_MAX} tools for all servers of an app`;
    return [{ pointer: `${pointer}/spec/tools`, detail }];
  }
  return [];
}
