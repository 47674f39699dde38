import { Injectable } from '@nestjs/common';
import { type Allow, type Area, AREAS, type Member, type Role, ROLES, workspacesWith } from '#platform/auth';
import { AgentTools } from './agent.tools';
import { CallTools } from './call.tools';
import { EvaluationTools } from './evaluation.tools';
import { FileTools } from './file.tools';
import { McpServerTools } from './mcp-server.tools';
import { ScoringTools } from './scoring.tools';
import { SearchTools } from './search.tools';
import { instructionsFor } from '../instructions';
import { SESSION_TOOL } from './session.tool';
import { SkillTools } from './skill.tools';
import { StoreTools } from './store.tools';
import type { EndpointTool, ListedTool } from './tool';

/** The tools and the instructions for callers with the same roles and areas. */
interface Offer {
  tools: ListedTool[];
  instructions: string;
}

/** All tools, except the one that opens sessions. */
@Injectable()
export class ToolCatalogue {
  private readonly tools: readonly EndpointTool[];
  private readonly byName: ReadonlyMap<string, EndpointTool>;
  /** The areas that open some tool. */
  private readonly areas: readonly Area[];
  private readonly offers = new Map<string, Offer>();

  constructor(
    search: SearchTools,
    agents: AgentTools,
    skills: SkillTools,
    files: FileTools,
    servers: McpServerTools,
    calls: CallTools,
    store: StoreTools,
    evaluation: EvaluationTools,
    scoring: ScoringTools,
  ) {
    const areas = [search, agents, skills, files, servers, calls, store, evaluation, scoring];
    this.tools = areas.flatMap(({ tools }) => tools);
    this.areas = AREAS.filter((area) => this.tools.some((one) => one.areas.includes(area)));
    this.byName = new Map(this.tools.map((tool) => [tool.listed.name, tool]));
  }

  find(name: string): EndpointTool | undefined {
    return this.byName.get(name);
  }

  /** Returns the tools that the caller may use in some workspace. */
  list(principal: Member): ListedTool[] {
    return this.offer(principal).tools;
  }

  /** Returns the guide for models, which mentions only these tools. */
  instructions(principal: Member): string {
    return this.offer(principal).instructions;
  }

  /** Removes the sentences about tools that the caller does not have from a description. */
  private describedFor(listed: ListedTool, names: ReadonlySet<string>): ListedTool {
    const sentences = listed.description.split(/(?<=\.) (?=[A-Z])/);
    const isOffered = (sentence: string): boolean =>
      (sentence.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).every(
        (name) => names.has(name) || !this.byName.has(name),
      );
    return { ...listed, description: sentences.filter(isOffered).join(' ') };
  }

  private offer(principal: Member): Offer {
    const roles = ROLES.filter((role) => hasRoleSomewhere(principal, role));
    const areas = this.areas.filter((area) => principal.allow?.areas.includes(area) ?? true);
    const key = `${roles.join()} ${areas.join()}`;
    let offer = this.offers.get(key);
    if (!offer) {
      const allowed = this.tools.filter(
        (tool) => tool.anyOf.some((role) => roles.includes(role)) && isOpen(tool, principal.allow),
      );
      const names = new Set([SESSION_TOOL.name, ...allowed.map(({ listed }) => listed.name)]);
      const tools = [SESSION_TOOL, ...allowed.map(({ listed }) => this.describedFor(listed, names))];
      offer = { tools, instructions: instructionsFor(names) };
      this.offers.set(key, offer);
    }
    return offer;
  }
}

/** Returns whether a key opens a tool. */
const isOpen = ({ areas }: EndpointTool, allow: Allow | null): boolean =>
  allow === null || areas.some((area) => allow.areas.includes(area));

function hasRoleSomewhere(principal: Member, role: Role): boolean {
  const workspaces = workspacesWith(principal, role);
  return workspaces === null || workspaces.size > 0;
}
