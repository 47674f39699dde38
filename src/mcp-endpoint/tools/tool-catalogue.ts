import { Injectable } from '@nestjs/common';
import { type Member, type Role, ROLES, workspacesWith } from '#platform/auth';
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

/** What callers with the same roles in any workspace are offered. */
interface Offer {
  tools: ListedTool[];
  instructions: string;
}

/** All tools, besides the one that opens sessions. */
@Injectable()
export class ToolCatalogue {
  private readonly tools: readonly EndpointTool[];
  private readonly byName: ReadonlyMap<string, EndpointTool>;
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
    this.byName = new Map(this.tools.map((tool) => [tool.listed.name, tool]));
  }

  find(name: string): EndpointTool | undefined {
    return this.byName.get(name);
  }

  /** Returns the tools that the caller may use in some workspace. */
  list(principal: Member): ListedTool[] {
    return this.offer(principal).tools;
  }

  /** Returns the guide for models, which names only these tools. */
  instructions(principal: Member): string {
    return this.offer(principal).instructions;
  }

  private offer(principal: Member): Offer {
    const held = ROLES.filter((role) => isHeldSomewhere(principal, role));
    const key = held.join();
    let offer = this.offers.get(key);
    if (!offer) {
      const allowed = this.tools.filter(({ anyOf }) => anyOf.some((role) => held.includes(role)));
      const tools = [SESSION_TOOL, ...allowed.map(({ listed }) => listed)];
      offer = { tools, instructions: instructionsFor(new Set(tools.map(({ name }) => name))) };
      this.offers.set(key, offer);
    }
    return offer;
  }
}

function isHeldSomewhere(principal: Member, role: Role): boolean {
  const workspaces = workspacesWith(principal, role);
  return workspaces === null || workspaces.size > 0;
}
