import { Injectable } from '@nestjs/common';
import {
  NAME_PREFIX,
  type OrgScope,
  PathNames,
  type Scope,
  WORKSPACE_HEADER,
  workspaceInHeader,
} from '#platform/auth';
import { routeOf, type ServiceRequest } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import type { AnyOf } from './any-of';
import { readableWorkspaces, WorkspaceAccessRepository } from './workspace-access.repository';

/** A kind of resource whose unique name can stand in paths instead of its id. */
export interface NamedKind {
  noun: string;
  readers?: AnyOf | undefined;
  /** Returns the id of the live resource with a name; null if there is none that the caller may read. */
  findId(scope: OrgScope, workspaceId: string, name: string): Promise<string | null>;
}

/** The length of the longest text that can be an id in a path. */
const ID_LENGTH_MAX = 255;

/** Finds resources by `name:<name>` in paths, for all kinds that the kit knows. */
@Injectable()
export class NamedPaths extends PathNames {
  private readonly kinds = new Map<string, NamedKind>();

  constructor(private readonly workspaces: WorkspaceAccessRepository) {
    super();
  }

  /** Adds a kind. @param parameter the path parameter with its id */
  add(parameter: string, kind: NamedKind): void {
    if (this.kinds.has(parameter)) throw new Error(`Two kinds of resources have names for ${parameter}.`);
    this.kinds.set(parameter, kind);
  }

  get parameters(): ReadonlySet<string> {
    return new Set(this.kinds.keys());
  }

  /** Errors: 400 if the workspace of the name is not clear, 404 for DELETE and restore, which need ids. */
  async resolve(request: ServiceRequest): Promise<void> {
    const { params, scope } = request;
    if (!scope) return;
    const resolved = { ...params };
    let workspaceId: string | undefined;
    for (const [parameter, kind] of this.kinds) {
      const value = params[parameter];
      if (typeof value !== 'string' || !value.startsWith(NAME_PREFIX)) continue;
      if (request.method === 'DELETE' || routeOf(request)?.endsWith('/restore')) {
        throw new Problem(
          'not_found',
          `DELETE and restore take ids, not names. Send the id of the ${kind.noun}.`,
        );
      }
      workspaceId ??= await this.workspaceOf(request, scope, kind);
      const name = value.slice(NAME_PREFIX.length);
      const id = isStorable(name, workspaceId) ? await kind.findId(scope, workspaceId, name) : null;
      resolved[parameter] = id ?? `${NAME_PREFIX}${encodeURIComponent(name)}`.slice(0, ID_LENGTH_MAX);
    }
    if (workspaceId === undefined) return;
    request.named = { params, workspaceId };
    request.params = resolved;
  }

  /** Returns the workspace of a name, and removes it from the query. Errors: 400. */
  private async workspaceOf(
    request: ServiceRequest,
    scope: OrgScope | Scope,
    { noun, readers }: NamedKind,
  ): Promise<string> {
    const { workspace_id: inQuery, ...query } = request.query;
    const inHeader = workspaceInHeader(request.headers);
    if (inQuery !== undefined) {
      if (typeof inQuery !== 'string') throw problem.invalidQuery('workspace_id', 'must be given once');
      if (inHeader !== undefined && inHeader !== inQuery) {
        throw problem.invalidQuery('workspace_id', `must be the workspace that ${WORKSPACE_HEADER} names`);
      }
      // Express parses the query again at each access
      Object.defineProperty(request, 'query', { value: query, configurable: true });
      return inQuery;
    }
    const only = inHeader ?? (await this.onlyWorkspace(scope, readers));
    if (only !== undefined) return only;
    throw problem.invalidRequest(
      `You can access several workspaces, so \`${NAME_PREFIX}\` needs one. Send ${WORKSPACE_HEADER} or \`workspace_id\` in the query, or the id of the ${noun}.`,
    );
  }

  /** Returns the only workspace that the caller can read; undefined if there are several or none. */
  private async onlyWorkspace(scope: OrgScope, readers?: AnyOf): Promise<string | undefined> {
    const ids = readableWorkspaces(scope, readers);
    return ids?.length === 1 ? ids[0] : this.workspaces.findOnlyLive(scope, ids);
  }
}

/** PostgreSQL accepts no NUL character in a parameter. */
const isStorable = (...texts: string[]): boolean => texts.every((text) => !text.includes('\0'));
