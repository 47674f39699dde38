import { Injectable } from '@nestjs/common';
import { checkAllowed, mayRead, type Scope, toolKey } from '#platform/auth';
import { problem } from '#platform/problem';
import { AgentService } from '../../agents';
import { ServerService } from '../../mcp-servers';

/** Finds out which tools of registered servers the caller's key allows. */
@Injectable()
export class AllowedTools {
  constructor(
    private readonly agents: AgentService,
    private readonly servers: ServerService,
  ) {}

  /** Throws 403 `forbidden` unless the caller's key allows a tool, and the agent of the key declares it. */
  async check(scope: Scope, serverId: string, toolName: string): Promise<void> {
    const { allow } = scope;
    if (!allow) return;
    const key = toolKey(serverId, toolName);
    const listed = await this.listedBy(scope);
    if (listed === null || listed.includes(key)) return;
    const { view } = await this.servers.get(scope, serverId);
    const name = toolKey(view.name, toolName);
    checkAllowed(allow, 'tools', key, name);
    throw problem.forbidden(
      `This key allows only the tools of the agent ${allow.agent_id}, and the agent does not declare \`${name}\`.`,
    );
  }

  /** Returns the servers that the caller may see: those of the allowed tools, or null for all. Errors: 403. */
  async serversOf(scope: Scope): Promise<readonly string[] | null> {
    const tools = mayRead(scope) ? null : await this.listedBy(scope);
    return tools && [...new Set(tools.map((key) => key.slice(0, key.indexOf('/'))))];
  }

  /** Returns the names of a server's tools that the caller may see: the allowed ones, or null for all. Errors: 403. */
  async toolsOf(scope: Scope, serverId: string): Promise<readonly string[] | null> {
    const tools = mayRead(scope) ? null : await this.listedBy(scope);
    const prefix = toolKey(serverId, '');
    return tools && tools.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  /** Returns the tools that the key lists, and that its agent declares now; null without such limits. Errors: 403. */
  private async listedBy(scope: Scope): Promise<readonly string[] | null> {
    const { agent_id = null, tools = null } = scope.allow ?? {};
    if (agent_id === null) return tools;
    const declared = await this.agents.declaredTools(scope, agent_id);
    if (!declared) {
      throw problem.forbidden(
        `This key allows only the tools of the agent ${agent_id}, which is archived. Restore the agent, or use another key.`,
      );
    }
    const keys = declared.map(({ server_id, tool_name }) => toolKey(server_id, tool_name));
    return tools === null ? keys : keys.filter((key) => tools.includes(key));
  }
}
