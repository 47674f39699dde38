import { IsOptional } from 'class-validator';
import { IsOneOf, Nested, validateBody } from '#platform/http';
import { isJsonObject, toRawJson } from '#platform/json';
import { urlFault } from '#platform/outbound';
import { type FieldError, Problem } from '#platform/problem';
import type { Declared } from '../../resources';
import { ServerFieldsDto } from '../servers/server.dto';
import { AuthFieldsDto } from '../servers/server-auth.dto';
import { type AuthColumns, AUTH_TYPES, type AuthType, type ServerEntity } from '../servers/server.entity';
import { authColumns, authFaults } from '../servers/server-auth';
import { toolFaults } from '../servers/tool-faults';
import type { GivenToolDto } from '../servers/tool.dto';

/** A declaration of a server, read. */
export interface DeclaredServer {
  /** The columns that the declaration decides. */
  columns: AuthColumns & Pick<ServerEntity, 'name' | 'description' | 'url' | 'transport' | 'metadata'>;
  /** Null leaves the tools as they are. */
  tools: readonly GivenToolDto[] | null;
}

/** `auth` without the secret, because everyone who can read the app reads its declarations. */
class ServerSpecAuthDto extends AuthFieldsDto {
  @IsOneOf(AUTH_TYPES)
  type!: AuthType;
}

/** The spec of a declared server: the members of `CreateServerDto` that an app decides. */
export class ServerSpecDto extends ServerFieldsDto {
  @IsOptional()
  @Nested(() => ServerSpecAuthDto)
  auth?: ServerSpecAuthDto | null;
}

const SECRET_MEMBERS = ['value', 'client_secret'];
const SECRET =
  'is not allowed, because everyone who can read the app reads it. Send it with PATCH /mcp/v1/servers/{server_id}.';

/**
 * Returns the form errors of a spec.
 *
 * @param pointer of the spec
 */
export function specFaults(spec: Record<string, unknown>, pointer: string): FieldError[] {
  const { auth: given } = spec;
  const secrets = isJsonObject(given) ? SECRET_MEMBERS.filter((member) => Object.hasOwn(given, member)) : [];
  if (secrets.length > 0) {
    return secrets.map((member) => ({ pointer: `${pointer}/auth/${member}`, detail: SECRET }));
  }
  try {
    const { url, auth, tools } = validateBody(ServerSpecDto, spec);
    const ofUrl = urlFault(url);
    return [
      ...(ofUrl === null ? [] : [{ pointer: `${pointer}/url`, detail: ofUrl }]),
      ...(auth ? authFaults(auth, `${pointer}/auth`) : []),
      ...toolFaults(tools ?? [], `${pointer}/tools`),
    ];
  } catch (error) {
    if (error instanceof Problem) return error.within(pointer).errors ?? [];
    throw error;
  }
}

/** Reads a declaration without form errors. */
export function readDeclared({ name, spec }: Declared): DeclaredServer {
  const { description, url, transport, auth, metadata, tools } = spec as unknown as ServerSpecDto;
  return {
    columns: {
      name,
      description: description ?? null,
      url,
      transport: transport ?? 'streamable_http',
      ...authColumns(auth ?? { type: 'none' }),
      metadata: toRawJson(metadata ?? {}),
    },
    tools: (tools as readonly GivenToolDto[] | null | undefined) ?? null,
  };
}

/** The most tools of all servers of an app, because a reconcile holds them in memory and writes them at once. */
const TOOLS_MAX = 10_000;

/** Returns the errors of well-formed declarations taken together. */
export function faultsAmongSpecs(declared: readonly Declared[]): FieldError[] {
  let count = 0;
  for (const { spec, pointer } of declared) {
    count += (spec as unknown as ServerSpecDto).tools?.length ?? 0;
    if (count <= TOOLS_MAX) continue;
    const detail = `exceeds the limit of ${TOOLS_MAX} tools for all servers of an app`;
    return [{ pointer: `${pointer}/spec/tools`, detail }];
  }
  return [];
}
