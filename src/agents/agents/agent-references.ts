import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { type FieldError, problem } from '#platform/problem';
import { ServerDirectory } from '../../mcp-servers';
import { LATEST, type VersionName } from '../../resources';
import { type DescribedSkill, SkillDirectory } from '../../skills';
import { toRawJson, type RawJson } from '#platform/json';
import type { AgentSkill, AgentTool } from './agent.entity';
import type { AgentSkillDto, AgentToolDto } from './agent-fields.dto';

type Fault = FieldError & { pointer: string };

/** References to tools and skills, and their place in a body. */
export interface PlacedReferences {
  tools: readonly AgentTool[];
  skills: readonly AgentSkill[];
  /** The JSON pointer of the place, such as `/resources/3/spec`. Empty for the body itself. */
  pointer: string;
}

/** A skill as a request names it. */
export interface NamedSkill {
  skill_id: string;
  version_ordinal?: VersionName | null;
}

/** The skills of an agent as a request names them, and their place in a body. */
export interface PlacedSkills {
  skills: readonly NamedSkill[];
  pointer: string;
}

/** Checks that the tools and skills of agents exist and are live in the agents' workspace. */
@Injectable()
export class AgentReferences {
  constructor(
    private readonly servers: ServerDirectory,
    private readonly skills: SkillDirectory,
  ) {}

  /** Errors: 400 naming each missing tool and skill. */
  async check(on: SqlExecutor, scope: Scope, references: Omit<PlacedReferences, 'pointer'>): Promise<void> {
    const faults = await this.faultsIn(on, scope, [{ ...references, pointer: '' }]);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /** Returns the skills of a body with the numbers of their versions. Errors: 400 naming each label without a version. */
  async withOrdinals(on: SqlExecutor, scope: Scope, skills: readonly NamedSkill[]): Promise<AgentSkill[]> {
    const { skills: numbered, faults } = await this.ordinalsIn(on, scope, [{ skills, pointer: '' }]);
    if (faults.length > 0) throw problem.invalidFields(faults);
    return numbered[0]!;
  }

  /** Replaces labels of versions by the numbers that they point to now. Takes one statement, or none without labels. */
  async ordinalsIn(
    on: SqlExecutor,
    scope: Scope,
    placed: readonly PlacedSkills[],
  ): Promise<{ skills: AgentSkill[][]; faults: Fault[] }> {
    const labelled = placed.flatMap(({ skills, pointer }) =>
      skills.flatMap((skill, index) =>
        typeof skill.version_ordinal === 'string' ? { skill, at: `${pointer}/skills/${index}` } : [],
      ),
    );
    const found = await this.skills.resolve(
      on,
      scope,
      labelled.map(({ skill }) => skill),
    );
    const ordinals = new Map(labelled.map(({ skill }, index) => [skill, found[index]?.version_ordinal]));
    const ordinalOf = (skill: NamedSkill): number | null =>
      typeof skill.version_ordinal === 'number' ? skill.version_ordinal : (ordinals.get(skill) ?? null);
    return {
      skills: placed.map(({ skills }) =>
        skills.map((skill) => ({ skill_id: skill.skill_id, version_ordinal: ordinalOf(skill) })),
      ),
      faults: labelled
        .filter((_, index) => found[index] === null)
        .map(({ skill, at }) => ({ pointer: at, detail: detailOf(skill) })),
    };
  }

  /**
   * Marks the references of views to what was deleted. Takes at most two statements.
   *
   * @returns the marked references, by which ETags differ; an empty object if there are none
   */
  async markErased(
    scope: OrgScope,
    views: readonly { tools: AgentToolDto[]; skills: AgentSkillDto[] }[],
  ): Promise<RawJson> {
    const tools = views.flatMap((view) => view.tools);
    const skills = views.flatMap((view) => view.skills);
    const servers = await this.servers.missing(
      scope,
      tools.map(({ server_id }) => server_id),
    );
    const missing = await this.skills.missing(scope, skills);
    const erased = [
      ...tools.filter(({ server_id }) => servers.has(server_id)),
      ...skills.filter((_, index) => missing.has(index)),
    ];
    for (const reference of erased) reference.erased = true;
    return toRawJson(erased.length === 0 ? {} : erased);
  }

  /** Returns the names and descriptions of skills, without those that were deleted. */
  describedSkills(scope: OrgScope, skills: readonly AgentSkill[]): Promise<DescribedSkill[]> {
    return this.skills.describe(scope, skills);
  }

  /** Returns the missing tools and skills of any number of agents. Takes two statements. */
  async faultsIn(on: SqlExecutor, scope: Scope, placed: readonly PlacedReferences[]): Promise<Fault[]> {
    const tools = placed.flatMap((one) =>
      one.tools.map((tool, i) => ({ tool, at: `${one.pointer}/tools/${i}` })),
    );
    const skills = placed.flatMap((one) =>
      one.skills.map((skill, i) => ({ skill, at: `${one.pointer}/skills/${i}` })),
    );
    const foundTools = await this.servers.findTools(
      on,
      scope,
      tools.map(({ tool }) => tool),
    );
    const toolKeys = new Set(foundTools.map(keyOf));
    const foundSkills = await this.skills.resolve(
      on,
      scope,
      skills.map(({ skill }) => skill),
    );
    return [
      ...tools
        .filter(({ tool }) => !toolKeys.has(keyOf(tool)))
        .map(({ at }) => ({ pointer: at, detail: NO_TOOL })),
      ...skills
        .filter((_, i) => foundSkills[i] === null)
        .map(({ skill, at }) => ({ pointer: at, detail: detailOf(skill) })),
    ];
  }
}

const keyOf = ({ server_id, tool_name }: AgentTool): string => JSON.stringify([server_id, tool_name]);

const NO_TOOL =
  'must be a tool of a server in the workspace, and the server must not be archived. If the server is new, refresh it first, or declare the tool in its `tools`.';

const detailOf = ({ version_ordinal }: NamedSkill): string => {
  if (version_ordinal === null || version_ordinal === LATEST)
    return 'must be a skill in the workspace, and must not be archived';
  const label = typeof version_ordinal === 'string' ? ` with the label ${version_ordinal}` : '';
  return `must be a version${label} of a skill in the workspace, and the skill must not be archived`;
};
