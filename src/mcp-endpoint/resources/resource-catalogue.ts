import { Injectable } from '@nestjs/common';
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  Resource,
} from '@modelcontextprotocol/server';
import { mayRead } from '#platform/auth';
import { Problem } from '#platform/problem';
import type { Caller } from '../sessions/caller';
import { SessionService } from '../sessions/session.service';
import { withProtocolErrors } from '../tools/tool-result';
import { FILE_TEMPLATE, FileResources } from './file-resources';
import { contentsOf } from './read-content';
import { type SkillEntry, SkillResources } from './skill-resources';

/** The lists that `resources/list` concatenates, in this order. */
const LISTS = ['skills', 'files'] as const;

const TEMPLATES: ListResourceTemplatesResult['resourceTemplates'] = [
  {
    name: 'skill_file',
    title: 'File of a skill',
    uriTemplate: 'skill://{skill_id}/{name}/{+path}',
    description: 'A file of a skill. The instructions are in SKILL.md.',
  },
  {
    name: 'file',
    title: 'File',
    uriTemplate: FILE_TEMPLATE,
    description: 'The newest content of a file, of at most 1 MiB.',
  },
];

/**
 * The resources of the endpoint that the caller may read: in the workspace of the request's header, or else in all
 * workspaces of the caller.
 */
@Injectable()
export class ResourceCatalogue {
  constructor(
    private readonly sessions: SessionService,
    private readonly skills: SkillResources,
    private readonly files: FileResources,
  ) {}

  async list(caller: Caller, cursor: string | undefined): Promise<ListResourcesResult> {
    if (!mayRead(caller.principal)) return { resources: [] };
    return withProtocolErrors(caller, 'resources/list', async () => {
      const [list, after] = positionOf(cursor);
      const scope = await this.sessions.readScope(caller);
      const page = await this[list].list(scope, after, caller.workspaceId);
      const following = LISTS[LISTS.indexOf(list) + 1];
      const next =
        page.nextCursor !== null ? cursorOf(list, page.nextCursor) : following && cursorOf(following);
      return { resources: page.items, ...(next !== undefined && { nextCursor: next }) };
    });
  }

  templates({ principal }: Caller): ListResourceTemplatesResult {
    return { resourceTemplates: mayRead(principal) ? TEMPLATES : [] };
  }

  async read(caller: Caller, uri: string): Promise<ReadResourceResult> {
    return withProtocolErrors(
      caller,
      'resources/read',
      async () => {
        const scope = await this.sessions.readScope(caller);
        const source = this.files.matches(uri) ? this.files : this.skills;
        return contentsOf(uri, await source.read(scope, uri));
      },
      uri,
    );
  }

  /** Serves `skills/list` of SEP-2640. */
  async listSkills(
    caller: Caller,
    cursor: string | undefined,
  ): Promise<{ skills: SkillEntry[]; nextCursor?: string }> {
    if (!mayRead(caller.principal)) return { skills: [] };
    return withProtocolErrors(caller, 'skills/list', async () => {
      const scope = await this.sessions.readScope(caller);
      const { items, nextCursor } = await this.skills.listEntries(scope, cursor, caller.workspaceId);
      return { skills: items, ...(nextCursor !== null && { nextCursor }) };
    });
  }

  /** Serves `skills/get` of SEP-2640. */
  async getSkill(caller: Caller, uri: string): Promise<{ skill: SkillEntry }> {
    return withProtocolErrors(caller, 'skills/get', async () => {
      return { skill: await this.skills.entry(await this.sessions.readScope(caller), uri) };
    });
  }

  /** Serves `resources/directory/read` of SEP-2640. */
  async readDirectory(
    caller: Caller,
    uri: string,
    cursor: string | undefined,
  ): Promise<{ resources: Resource[]; nextCursor?: string }> {
    return withProtocolErrors(caller, 'resources/directory/read', async () => {
      const { items, nextCursor } = await this.skills.children(
        await this.sessions.readScope(caller),
        uri,
        cursor,
      );
      return { resources: items, ...(nextCursor !== null && { nextCursor }) };
    });
  }
}

type ListName = (typeof LISTS)[number];

const cursorOf = (list: ListName, after = ''): string =>
  Buffer.from(`${list} ${after}`).toString('base64url');

function positionOf(cursor: string | undefined): [list: ListName, after: string | undefined] {
  if (cursor === undefined) return ['skills', undefined];
  const [name, after] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  const list = LISTS.find((one) => one === name);
  if (!list) throw new Problem('invalid_query', 'cursor: must be the nextCursor of the previous page');
  return [list, after || undefined];
}
