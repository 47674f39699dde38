import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import { ServerDirectory } from '../../mcp-servers';
import { SkillDirectory } from '../../skills';
import { contentOf } from '../agents/agent-content';
import { AgentReferences, type PlacedSkills } from '../agents/agent-references';
import type { AgentContent, AgentTool } from '../agents/agent.entity';
import { REPEATED } from './agent-spec';
import type { AgentSpec } from './agent-spec.dto';

type Fault = FieldError & { pointer: string };
type Ids = ReadonlyMap<string, string>;

/** A spec and its place in the app. */
interface PlacedSpec {
  spec: AgentSpec;
  pointer: string;
}

const UNKNOWN = 'is neither in the workspace nor declared by this app';

/** Resolves the references of declared agents to ids. */
@Injectable()
export class AgentResolver {
  constructor(
    private readonly servers: ServerDirectory,
    private readonly skills: SkillDirectory,
    private readonly references: AgentReferences,
  ) {}

  /** Returns the contents of specs in order. Takes at most five statements for any number of specs. */
  async resolve(
    tx: Tx,
    scope: Scope,
    specs: readonly PlacedSpec[],
  ): Promise<{ contents: AgentContent[]; faults: Fault[] }> {
    const serverNames = specs.flatMap(({ spec }) => (spec.tools ?? []).flatMap(({ server }) => server ?? []));
    const skillNames = specs.flatMap(({ spec }) => (spec.skills ?? []).flatMap(({ skill }) => skill ?? []));
    const servers = await this.servers.idsByName(tx, scope, serverNames);
    const skills = await this.skills.idsByName(tx, scope, skillNames);
    const references = specs.map(({ spec, pointer }) => ({ ...withIds(spec, servers, skills), pointer }));
    const faults = references.flatMap((one) => [...unknownNames(one), ...repeatedReferences(one)]);
    if (faults.length > 0) return { contents: [], faults };
    const numbered = await this.references.ordinalsIn(tx, scope, references);
    if (numbered.faults.length > 0) return { contents: [], faults: numbered.faults };
    const resolved = references.map((one, index) => ({ ...one, skills: numbered.skills[index]! }));
    return {
      contents: resolved.map(({ tools, skills: resolvedSkills }, index) =>
        contentOf({ ...specs[index]!.spec, tools, skills: resolvedSkills }),
      ),
      faults: await this.references.faultsIn(tx, scope, resolved),
    };
  }
}

/** References with ids, and their place in the app. */
interface ReferencesWithIds extends PlacedSkills {
  tools: AgentTool[];
}

/** Returns the references of a spec with ids. A name without a resource becomes an empty id. */
function withIds(spec: AgentSpec, servers: Ids, skills: Ids): Omit<ReferencesWithIds, 'pointer'> {
  const idOf = (ids: Ids, name: string | null | undefined, id: string | null | undefined): string =>
    (name == null ? id : ids.get(name)) ?? '';
  return {
    tools: (spec.tools ?? []).map(({ server, server_id, tool_name }) => ({
      server_id: idOf(servers, server, server_id),
      tool_name,
    })),
    skills: (spec.skills ?? []).map(({ skill, skill_id, version_ordinal }) => ({
      skill_id: idOf(skills, skill, skill_id),
      version_ordinal: version_ordinal ?? null,
    })),
  };
}

const unknownNames = ({ tools, skills, pointer }: ReferencesWithIds): Fault[] => [
  ...tools.flatMap(({ server_id }, index) =>
    server_id === '' ? { pointer: `${pointer}/tools/${index}/server`, detail: UNKNOWN } : [],
  ),
  ...skills.flatMap(({ skill_id }, index) =>
    skill_id === '' ? { pointer: `${pointer}/skills/${index}/skill`, detail: UNKNOWN } : [],
  ),
];

/**
 * Returns references to the same tool or skill, one by name and one by id, which are known only after names are
 * resolved. They are faults because patching the agent with its own members would fail.
 */
const repeatedReferences = ({ tools, skills, pointer }: ReferencesWithIds): Fault[] => [
  ...repeatedKeys(
    tools.map(({ server_id, tool_name }) => server_id && JSON.stringify([server_id, tool_name])),
    `${pointer}/tools`,
  ),
  ...repeatedKeys(
    skills.map(({ skill_id }) => skill_id),
    `${pointer}/skills`,
  ),
];

/** @param keys an empty string stands for an unknown reference */
function repeatedKeys(keys: readonly string[], pointer: string): Fault[] {
  const seen = new Set<string>();
  return keys.flatMap((key, index) => {
    const isRepeated = key !== '' && seen.has(key);
    seen.add(key);
    return isRepeated ? [{ pointer: `${pointer}/${index}`, detail: REPEATED }] : [];
  });
}
