import { Injectable } from '@nestjs/common';
import { type Allow, type Area, AREAS, EVERY_WORKSPACE, type OrgScope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { problem } from '#platform/problem';
import { type AllowedKindName, AllowedKinds, checkFaults, pick } from '../../resources';
import { MemberRepository } from '../workspaces/member.repository';
import type { KeyAllowBodyDto, KeyAllowDto } from './key-allow.dto';
import type { ServiceAccountEntity } from './service-account.entity';

/** The lists of `Allow`, and how an unknown reference is described. */
const LISTS = {
  models: "the name or id of a model that is not archived, in a workspace of the key's account",
  apis: "the name or id of an API that is not archived, in a workspace of the key's account",
  tools:
    "a tool that is not archived, as `<server>/<tool>`, of an MCP server in a workspace of the key's account",
  agents: "the id of an agent that is not archived, in a workspace of the key's account",
} satisfies Record<AllowedKindName, string>;

const LIST_NAMES = ['models', 'apis', 'tools'] as const;

/** References in a request body. */
export interface References {
  kind: AllowedKindName;
  references: readonly string[];
  /** The JSON pointer of each reference. */
  pointerOf: (index: number) => string;
}

/** Turns the limits of keys from request bodies into ids, and back into names for responses. */
@Injectable()
export class KeyAllows {
  constructor(
    private readonly database: Database,
    private readonly kinds: AllowedKinds,
    private readonly members: MemberRepository,
  ) {}

  /** Returns the limits of a new key. Errors: 400 for no limits, and for unknown or ambiguous names, naming each. */
  async resolve(
    tx: Tx,
    scope: OrgScope,
    account: Pick<ServiceAccountEntity, 'service_account_id' | 'workspace_ids'>,
    body: KeyAllowBodyDto,
  ): Promise<Allow> {
    const { areas, agent_id } = body;
    const implied: Partial<Record<Area, unknown>> = {
      ...pick(body, ['models', 'apis']),
      tools: body.tools ?? agent_id,
    };
    const included = AREAS.filter(
      (area) => areas?.includes(area) === true || (implied[area] ?? null) !== null,
    );
    if (included.length === 0) {
      const detail =
        'must have `areas`, `models`, `apis`, `tools` or `agent_id`. Leave it out for a key without limits';
      throw problem.invalidField('/allow', detail);
    }
    const within = await this.workspacesOf(tx, scope, account);
    const idsOf = (
      kind: AllowedKindName,
      references: readonly string[],
      pointer: (index: number) => string,
    ) => this.idsOf(tx, scope, within, { kind, references, pointerOf: pointer });
    const lists: Partial<Record<(typeof LIST_NAMES)[number], string[]>> = {};
    for (const list of LIST_NAMES) {
      const references = body[list];
      if (references) lists[list] = await idsOf(list, references, (index) => `/allow/${list}/${index}`);
    }
    if (agent_id) await idsOf('agents', [agent_id], () => '/allow/agent_id');
    return {
      areas: included,
      models: lists.models ?? null,
      apis: lists.apis ?? null,
      tools: lists.tools ?? null,
      agent_id: agent_id ?? null,
    };
  }

  /**
   * Returns the sorted ids of resources. Errors: 400 for unknown and ambiguous references.
   *
   * @param within the workspaces of the account; null for all
   * @param kept ids that may stay even if they are archived
   */
  async idsOf(
    tx: Tx,
    scope: OrgScope,
    within: readonly string[] | null,
    { kind, references, pointerOf }: References,
    kept: readonly string[] = [],
  ): Promise<string[]> {
    const ids = new Map<string, Set<string>>(kept.map((id) => [id, new Set([id])]));
    for (const { reference, id } of await this.kinds.of(kind).find(tx, scope, within, references)) {
      // an agent is named by its id alone
      if (kind === 'agents' && reference !== id) continue;
      ids.set(reference, (ids.get(reference) ?? new Set()).add(id));
    }
    const faults = references.flatMap((reference, index) => {
      const found = ids.get(reference)?.size ?? 0;
      if (found === 1) return [];
      const detail = found === 0 ? `must be ${LISTS[kind]}` : `names several resources. ${BY_ID[kind]}`;
      return [{ pointer: pointerOf(index), detail }];
    });
    checkFaults(faults);
    return [...new Set(references.flatMap((reference) => [...ids.get(reference)!]))].sort();
  }

  /** Returns views with the current names. Takes a statement for each kind of list. */
  async views(
    scope: OrgScope,
    allows: readonly (Allow | null)[],
    on: SqlExecutor = this.database,
  ): Promise<(KeyAllowDto | null)[]> {
    const names = new Map<string, string>();
    for (const list of LIST_NAMES) {
      const ids = [...new Set(allows.flatMap((allow) => allow?.[list] ?? []))];
      if (ids.length === 0) continue;
      for (const [id, name] of await this.kinds.of(list).namesOf(on, scope, ids)) names.set(id, name);
    }
    const named = (ids: readonly string[] | null) => ids && ids.map((id) => names.get(id) ?? id);
    return allows.map(
      (allow) =>
        allow && {
          areas: allow.areas,
          models: named(allow.models),
          apis: named(allow.apis),
          tools: named(allow.tools),
          agent_id: allow.agent_id,
        },
    );
  }

  /** Returns the workspaces that a service account can access; null for all. */
  private async workspacesOf(
    tx: Tx,
    scope: OrgScope,
    account: Pick<ServiceAccountEntity, 'service_account_id' | 'workspace_ids'>,
  ): Promise<string[] | null> {
    if (account.workspace_ids.includes(EVERY_WORKSPACE)) return null;
    const memberships = await this.members.findAllOf(scope, account.service_account_id, tx);
    return [...account.workspace_ids, ...memberships.map(({ workspace_id }) => workspace_id)];
  }
}

const BY_ID = {
  models: 'Send the id of one',
  apis: 'Send the id of one',
  tools: 'Send the id of one server instead of its name',
  agents: '',
} satisfies Record<AllowedKindName, string>;
