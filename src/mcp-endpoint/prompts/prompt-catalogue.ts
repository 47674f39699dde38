import { Injectable } from '@nestjs/common';
import type { CompleteResult, GetPromptResult, ListPromptsResult } from '@modelcontextprotocol/server';
import { mayRead, type OrgScope } from '#platform/auth';
import { isId } from '#platform/ids';
import { AgentListQueryDto, AgentService } from '../../agents';
import { problem } from '#platform/problem';
import { checkLive } from '../../resources';
import { SkillListQueryDto, SkillService } from '../../skills';
import type { Caller } from '../sessions/caller';
import { SessionService } from '../sessions/session.service';
import { withProtocolErrors } from '../tools/tool-result';
import { pageOfString } from '../tools/text-pages';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';

/** The maximum number of values in a completion, as in the protocol. */
const COMPLETIONS_MAX = 100;

/** The maximum length of a name that is completed or looked up, in characters. */
const NAME_MAX = 255;

interface Prompt {
  listed: ListPromptsResult['prompts'][number];
  /** The argument that names a resource. */
  argument: string;
  /** Returns the names that contain the words. */
  complete: (scope: OrgScope, q: string) => Promise<CompleteResult['completion']>;
  /** @param name the name or the id of the resource */
  text: (scope: OrgScope, name: string) => Promise<string>;
}

/** The prompts, which people choose in their client: to use a skill, or to act as an agent. */
@Injectable()
export class PromptCatalogue {
  private readonly prompts: readonly Prompt[];

  constructor(
    private readonly sessions: SessionService,
    private readonly skills: SkillService,
    private readonly agents: AgentService,
  ) {
    this.prompts = [this.useSkill(), this.actAsAgent()];
  }

  list({ principal }: Caller): ListPromptsResult {
    return { prompts: mayRead(principal) ? this.prompts.map(({ listed }) => listed) : [] };
  }

  async get(caller: Caller, name: string, args: Record<string, string>): Promise<GetPromptResult> {
    const prompt = this.find(name);
    const argumentNames = prompt.listed.arguments!.map((argument) => argument.name);
    const unknown = Object.keys(args).find((argument) => !argumentNames.includes(argument));
    if (unknown !== undefined) {
      const shortened = unknown.slice(0, NAME_MAX);
      throw invalid(
        `${shortened} is not an argument of ${name}. Its arguments are: ${argumentNames.join(', ')}.`,
      );
    }
    const value = args[prompt.argument] ?? '';
    if (value === '' || value.length > NAME_MAX) {
      throw invalid(`The prompt ${name} requires the argument ${prompt.argument}.`);
    }
    const text = await withProtocolErrors(caller, 'prompts/get', async () =>
      prompt.text(await this.sessions.readScope(caller), value),
    );
    const request = args['task'] ? `\n\nThe task:\n\n${args['task']}` : '';
    return {
      description: prompt.listed.description,
      messages: [{ role: 'user', content: { type: 'text', text: text + request } }],
    };
  }

  /** Completes the name of a resource. Other arguments have no completions. */
  async complete(caller: Caller, name: string, argument: string, value: string): Promise<CompleteResult> {
    const prompt = this.find(name);
    if (argument !== prompt.argument || value.length > NAME_MAX) return { completion: { values: [] } };
    const completion = await withProtocolErrors(caller, 'completion/complete', async () =>
      prompt.complete(await this.sessions.readScope(caller), value),
    );
    return { completion };
  }

  private useSkill(): Prompt {
    return {
      listed: {
        name: 'use_skill',
        title: 'Use a skill',
        description: 'Do a task according to the instructions of a skill.',
        arguments: [
          { name: 'skill', description: 'The name or the id of the skill.', required: true },
          { name: 'task', description: 'What to do.' },
        ],
      },
      argument: 'skill',
      complete: async (scope, q) => {
        const query = Object.assign(new SkillListQueryDto(), { q, limit: COMPLETIONS_MAX, sort: 'name' });
        return completionOf(await this.skills.list(scope, query), ({ skill_id }) => skill_id);
      },
      text: async (scope, name) => {
        const query = Object.assign(new SkillListQueryDto(), { name, limit: 2 });
        const id = isId('skl', name)
          ? name
          : onlyOne('skill', (await this.skills.list(scope, query)).items).skill_id;
        const { view } = await this.skills.get(scope, id);
        checkLive(view, 'skill');
        const { text, next_offset } = pageOfString(view.instructions, 0);
        return [
          `Follow the skill "${view.name}" (${view.skill_id}): ${view.description}`,
          `<skill name="${view.name}">\n${text}\n</skill>`,
          next_offset !== null && `Read the rest with get_skill and offset ${next_offset}.`,
          view.file_count > 1 &&
            `The skill has ${view.file_count} files. List them with get_skill, and read those that you need with read_skill_file.`,
        ]
          .filter(Boolean)
          .join('\n\n');
      },
    };
  }

  private actAsAgent(): Prompt {
    return {
      listed: {
        name: 'act_as_agent',
        title: 'Act as an agent',
        description: 'Work as an agent of the registry, with its instructions, skills and tools.',
        arguments: [
          { name: 'agent', description: 'The name or the id of the agent.', required: true },
          { name: 'task', description: 'What to do.' },
        ],
      },
      argument: 'agent',
      complete: async (scope, q) => {
        const query = Object.assign(new AgentListQueryDto(), { q, limit: COMPLETIONS_MAX, sort: 'name' });
        return completionOf(await this.agents.list(scope, query), ({ agent_id }) => agent_id);
      },
      text: async (scope, name) => {
        const query = Object.assign(new AgentListQueryDto(), { name, limit: 2 });
        const id = isId('agt', name)
          ? name
          : onlyOne('agent', (await this.agents.list(scope, query)).items).agent_id;
        const { view } = await this.agents.get(scope, id);
        checkLive(view, 'agent');
        const { text, next_offset } = pageOfString(view.instructions, 0);
        const tools = view.tools.map(({ server_id, tool_name }) => `- ${tool_name} of ${server_id}`);
        const skills = view.skills.map(({ skill_id }) => `- ${skill_id}`);
        return [
          `Act as the agent "${view.name}" (${view.agent_id}).`,
          `<instructions>\n${text}\n</instructions>`,
          next_offset !== null && `Read the rest with get_agent and offset ${next_offset}.`,
          skills.length > 0 && `Read its skills with get_skill before you need them:\n${skills.join('\n')}`,
          tools.length > 0 && `Run its tools with call_mcp_tool:\n${tools.join('\n')}`,
        ]
          .filter(Boolean)
          .join('\n\n');
      },
    };
  }

  private find(name: string): Prompt {
    const prompt = this.prompts.find(({ listed }) => listed.name === name);
    if (!prompt)
      throw invalid(`Unknown prompt: ${name.slice(0, NAME_MAX)}. Call prompts/list for the names.`);
    return prompt;
  }
}

const invalid = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** Returns the only resource with a name. Errors: 404; 400 if several workspaces have one with this name. */
function onlyOne<Item>(kind: string, items: readonly Item[]): Item {
  const [first, second] = items;
  if (!first) throw problem.notFound(kind);
  if (second) {
    throw problem.invalidRequest(`Several workspaces have a ${kind} with this name. Use its id instead.`);
  }
  return first;
}

/** Returns the names of the resources on a page, or the ids of resources that have the same name. */
function completionOf<Item extends { name: string }>(
  { items, page: { total } }: { items: readonly Item[]; page: { total: number | null } },
  idOf: (item: Item) => string,
): CompleteResult['completion'] {
  const counts = new Map<string, number>();
  for (const { name } of items) counts.set(name, (counts.get(name) ?? 0) + 1);
  const values = items.map((item) => (counts.get(item.name) === 1 ? item.name : idOf(item)));
  return { values, hasMore: total === null || total > items.length, ...(total !== null && { total }) };
}
