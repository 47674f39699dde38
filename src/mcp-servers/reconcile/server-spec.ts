import { validateBody } from '#platform/http';
import { isJsonObject, type RawJson, toRawJson } from '#platform/json';
import { type FieldError, Problem } from '#platform/problem';
import type { Declared } from '../../registry';
import type { ServerEntity } from '../servers/server.entity';
import { authFaults, urlFault } from '../servers/server-form';
import type { GivenToolDto } from '../tools/given-tool.dto';
import { toolFaults } from '../tools/tool-form';
import { ServerSpecDto } from './server-spec.dto';

/** What a declaration makes of a server. */
export type DeclaredContent = Pick<
  ServerEntity,
  'name' | 'description' | 'url' | 'transport' | 'auth_type' | 'auth_header'
> & { metadata: RawJson };

/** A declared server. */
export interface DeclaredServer {
  pointer: string;
  content: DeclaredContent;
  /** Null where the declaration leaves them as they are. */
  tools: readonly GivenToolDto[] | null;
}

const SECRET =
  'is not for declarations, which whoever reads the app can read: set it once with PATCH /mcp/v1/servers/{server_id}';

/**
 * What of a spec is not of the right form.
 *
 * @param pointer of the spec
 */
export function specFaults(spec: Record<string, unknown>, pointer: string): FieldError[] {
  if (isJsonObject(spec.auth) && Object.hasOwn(spec.auth, 'value')) {
    return [{ pointer: `${pointer}/auth/value`, detail: SECRET }];
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

/** A declaration without a fault, as the server that it makes. */
export function readDeclared({ name, spec, pointer }: Declared): DeclaredServer {
  const { description, url, transport, auth, metadata, tools } = spec as unknown as ServerSpecDto;
  return {
    pointer,
    content: {
      name,
      description: description ?? null,
      url,
      transport: transport ?? 'streamable_http',
      auth_type: auth?.type ?? 'none',
      auth_header: auth?.header ?? null,
      metadata: toRawJson(metadata ?? {}),
    },
    tools: (tools as readonly GivenToolDto[] | null | undefined) ?? null,
  };
}

/** Tools of all servers of one app: what is held in memory and written by one sweep. */
const TOOLS_MAX = 10_000;

/** What is wrong with the servers that an app declares, each of the right form, taken together. */
export function faultsAmongSpecs(declared: readonly Declared[]): FieldError[] {
  let count = 0;
  for (const { spec, pointer } of declared) {
    count += (spec as unknown as ServerSpecDto).tools?.length ?? 0;
    if (count <= TOOLS_MAX) continue;
    const detail = `has, with those of the servers before it, more than ${TOOLS_MAX} tools, which is as many as an app may declare`;
    return [{ pointer: `${pointer}/spec/tools`, detail }];
  }
  return [];
}
