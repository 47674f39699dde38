import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { type FieldError, problem } from '#platform/problem';
import { ServerDirectory } from '../../mcp-servers';
import { SkillDirectory } from '../../skills';
import type { AgentSkill, AgentTool } from './agent.entity';

/** Something that refers to tools and skills, and where it stands in a body. */
export interface Referring {
  tools: readonly AgentTool[];
  skills: readonly AgentSkill[];
  /** Such as `/resources/3/spec`; empty where it is the body. */
  pointer: string;
}

/** Whether what agents refer to is there: tools of live MCP servers, and live skills, of their workspace. */
@Injectable()
export class AgentReferences {
  constructor(
    private readonly servers: ServerDirectory,
    private readonly skills: SkillDirectory,
  ) {}

  /** 400 naming what is not there. */
  async check(on: SqlExecutor, scope: Scope, referring: Omit<Referring, 'pointer'>): Promise<void> {
    const faults = await this.faultsIn(on, scope, [{ ...referring, pointer: '' }]);
    if (faults.length > 0) throw problem.invalidFields(faults);
  }

  /** What is not there, of any number of agents, by two statements. */
  async faultsIn(
    on: SqlExecutor,
    scope: Scope,
    referring: readonly Referring[],
  ): Promise<(FieldError & { pointer: string })[]> {
    const tools = referring.flatMap((one) =>
      one.tools.map((tool, i) => ({ tool, at: `${one.pointer}/tools/${i}` })),
    );
    const skills = referring.flatMap((one) =>
      one.skills.map((skill, i) => ({ skill, at: `${one.pointer}/skills/${i}` })),
    );
    const known = await this.servers.findTools(
      on,
      scope,
      tools.map(({ tool }) => tool),
    );
    const areTools = new Set(known.map(keyOf));
    const areSkills = await this.skills.findAmong(
      on,
      scope,
      skills.map(({ skill }) => skill),
    );
    return [
      ...tools
        .filter(({ tool }) => !areTools.has(keyOf(tool)))
        .map(({ at }) => ({ pointer: at, detail: NO_TOOL })),
      ...skills
        .filter((_, i) => areSkills[i] === null)
        .map(({ skill, at }) => ({ pointer: at, detail: detailOf(skill) })),
    ];
  }
}

const keyOf = ({ server_id, tool_name }: AgentTool): string => JSON.stringify([server_id, tool_name]);

const NO_TOOL = 'is not a tool of a live server of the workspace';

const detailOf = ({ version_ordinal }: AgentSkill): string =>
  version_ordinal === null
    ? 'is not a live skill of the workspace'
    : 'is not a live skill of the workspace that has such a version';
