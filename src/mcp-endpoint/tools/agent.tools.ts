import { Injectable } from '@nestjs/common';
import { AgentListQueryDto, AgentService } from '../../agents';
import { LIST_OFFSET_INPUT, listTool, membersOf, NEXT_LIST_OFFSET, partOfLists } from './lists';
import { NEXT_OFFSET, OFFSET_INPUT, pageOfString } from './text-pages';
import { ID, objectOf, STRING, STRING_OR_NULL, tool } from './tool';

interface GetArguments {
  agent_id: string;
  offset?: number;
  list_offset?: number;
}

const AGENT = {
  agent_id: STRING,
  name: STRING,
  display_name: STRING_OR_NULL,
  description: STRING_OR_NULL,
  model: STRING_OR_NULL,
};

/** The tools that read agents. */
@Injectable()
export class AgentTools {
  constructor(private readonly agents: AgentService) {}

  readonly tools = [
    listTool({
      name: 'list_agents',
      title: 'List agents',
      description:
        'Lists the agents (assistants, bots) of the workspace, newest first, with what each one is for. Use it to see which agents exist. Then call get_agent for the instructions, tools and skills of one.',
      anyOf: ['viewer', 'runtime'],
      item: AGENT,
      query: AgentListQueryDto,
      list: ({ scope }, query) => this.agents.list(scope, { ...query, workspace_id: scope.workspaceId }),
    }),
    tool<GetArguments>({
      name: 'get_agent',
      title: 'Get an agent',
      description:
        'Returns one agent (assistant, bot): its instructions, model, tools and skills. Use it to act as the agent or to explain what it does. Then call get_skill for its skills, and call_mcp_tool with the server_id and tool_name of its tools.',
      input: {
        agent_id: { ...ID, description: 'From list_agents or search_registry.' },
        ...OFFSET_INPUT,
        ...LIST_OFFSET_INPUT,
      },
      required: ['agent_id'],
      output: {
        ...AGENT,
        instructions: STRING,
        next_offset: NEXT_OFFSET,
        tools: { type: 'array', items: objectOf({ server_id: STRING, tool_name: STRING }) },
        skills: {
          type: 'array',
          items: objectOf({
            skill_id: STRING,
            version_ordinal: { type: ['integer', 'null'], description: 'Null means the newest version.' },
          }),
        },
        required_permissions: { type: 'array', items: STRING },
        next_list_offset: NEXT_LIST_OFFSET,
        max_step_count: { type: 'integer' },
        version_ordinal: { type: 'integer' },
        is_archived: { type: 'boolean', description: 'Whether the agent is archived.' },
      },
      anyOf: ['viewer', 'runtime'],
      run: async ({ scope, args: { agent_id, offset = 0, list_offset } }) => {
        const { view } = await this.agents.get(scope, agent_id);
        const { tools, skills, required_permissions } = view;
        const { text, next_offset } = pageOfString(view.instructions, offset);
        return {
          ...membersOf(view, AGENT),
          instructions: text,
          next_offset,
          ...partOfLists({ tools, skills, required_permissions }, list_offset),
          max_step_count: view.max_step_count,
          version_ordinal: view.version_ordinal,
          is_archived: view.archived_at !== null,
        };
      },
    }),
  ];
}
