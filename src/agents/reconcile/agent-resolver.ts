import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import { ServerDirectory } from '../../mcp-servers';
import { SkillDirectory } from '../../skills';
import { contentOf } from '../agents/agent-content';
import type { AgentContent } from '../agents/agent.entity';
import { AgentReferences } from '../agents/agent-references';
import { TWICE } from './agent-spec';
import type { AgentSpec } from './agent-spec.dto';

type Fault = FieldError & { pointer: string };

/** A spec, and where it stands in its app. */
interface PlacedSpec {
  spec: AgentSpec;
  pointer: string;
}

/** Turns what apps declare of agents into what agents are: with references by id, to what is there. */
@Injectable()
export class AgentResolver {
  constructor(
    private readonly servers: ServerDirectory,
    private readonly skills: SkillDirectory,
    private readonly references: AgentReferences,
  ) {}

  /** Of any number of specs, in their order, by four statements at most. */
  async resolve(
    tx: Tx,
    scope: Scope,
    specs: readonly PlacedSpec[],
  ): Promise<{ contents: AgentContent[]; faults: Fault[] }> {
    const serverNames = specs.flatMap(({ spec }) => (spec.tools ?? []).flatMap(({ server }) => server ?? []));
    const skillNames = specs.flatMap(({ spec }) => (spec.skills ?? []).flatMap(({ skill }) => skill ?? []));
    const servers =
      serverNames.length > 0
        ? await this.servers.idsByName(tx, scope, serverNames)
        : new Map<string, string>();
    const skills =
      skillNames.length > 0 ? await this.skills.idsByName(tx, scope, skillNames) : new Map<string, string>();
    const faults: Fault[] = [];
    const resolved = specs.map(({ spec, pointer }) => {
      const idOf = (
        known: ReadonlyMap<string, string>,
        name: string | null | undefined,
        id: string | null | undefined,
        place: string,
      ): string => {
        const found = name == null ? id : known.get(name);
        if (found == null) {
          const detail = 'names nothing that the workspace has, or that this app declares';
          faults.push({ pointer: `${pointer}/${place}`, detail });
        }
        return found ?? '';
      };
      const content = contentOf({
        ...spec,
        tools: (spec.tools ?? []).map(({ server, server_id, tool_name }, index) => ({
          server_id: idOf(servers, server, server_id, `tools/${index}/server`),
          tool_name,
        })),
        skills: (spec.skills ?? []).map(({ skill, skill_id, version_ordinal }, index) => ({
          skill_id: idOf(skills, skill, skill_id, `skills/${index}/skill`),
          version_ordinal: version_ordinal ?? null,
        })),
      });
      return { content, pointer };
    });
    for (const { content, pointer } of resolved) faults.push(...repeated(content, pointer));
    if (faults.length === 0) {
      const referring = resolved.map(({ content, pointer }) => ({ ...content, pointer }));
      faults.push(...(await this.references.faultsIn(tx, scope, referring)));
    }
    return { contents: resolved.map(({ content }) => content), faults };
  }
}

/** What is named in two ways is known to be the same only now. Such an agent would take no PATCH of its own members. */
function repeated({ tools, skills }: AgentContent, pointer: string): Fault[] {
  const ofTools = tools.map(
    ({ server_id, tool_name }) => server_id && JSON.stringify([server_id, tool_name]),
  );
  const ofSkills = skills.map(({ skill_id }) => skill_id);
  return [...repeatedKeys(ofTools, `${pointer}/tools`), ...repeatedKeys(ofSkills, `${pointer}/skills`)];
}

/** @param keys empty where the reference names nothing */
function repeatedKeys(keys: readonly string[], pointer: string): Fault[] {
  const seen = new Set<string>();
  return keys.flatMap((key, index) => {
    const isRepeated = key !== '' && seen.has(key);
    seen.add(key);
    return isRepeated ? [{ pointer: `${pointer}/${index}`, detail: TWICE }] : [];
  });
}
