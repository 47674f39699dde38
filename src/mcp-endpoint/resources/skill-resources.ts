import { Injectable } from '@nestjs/common';
import type { Resource } from '@modelcontextprotocol/server';
import type { OrgScope } from '#platform/auth';
import { problem } from '#platform/problem';
import { SKILL_MD, type SkillDto, type SkillFile, SkillListQueryDto, SkillService } from '../../skills';
import { pageQuery } from '../tools/lists';
import { mediaTypeOf } from './media-type';
import { type ReadContent, RESOURCE_BYTES } from './read-content';
import { parseSkillUri, type SkillLocation, skillUri } from './skill-uri';

/** The number of skills on a page. */
const PAGE = 20;

/** The entry of a skill that exceeds these sizes does not list its files (SEP-2640). */
const LISTED_FILES_MAX = 512;
const LISTED_BYTES_MAX = 16 * 1024 * 1024;
/** The maximum total length of the URIs of the files in an entry, in characters. */
const LISTED_URIS_MAX = 64 * 1024;

/** The number of files and directories on a page of a directory. */
const CHILDREN_PAGE = 200;

export const DIRECTORY_TYPE = 'inode/directory';

/** A skill as the extension `io.modelcontextprotocol/skills` lists it. */
export interface SkillEntry {
  uri: string;
  frontmatter: Record<string, unknown>;
  resources: { uri: string; digest: string; size: number }[] | 'dynamic';
}

/** A page of a list. */
export interface ResourcePage<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** Skills and their files as resources. */
@Injectable()
export class SkillResources {
  constructor(private readonly skills: SkillService) {}

  /** Lists the SKILL.md of each skill. */
  async list(
    scope: OrgScope,
    cursor: string | undefined,
    workspaceId?: string,
  ): Promise<ResourcePage<Resource>> {
    const { items, nextCursor } = await this.page(scope, cursor, workspaceId);
    return { items: items.map(resourceOf), nextCursor };
  }

  /** Lists skills with their frontmatter and the digests of their files. */
  async listEntries(
    scope: OrgScope,
    cursor: string | undefined,
    workspaceId?: string,
  ): Promise<ResourcePage<SkillEntry>> {
    const { items, nextCursor } = await this.page(scope, cursor, workspaceId);
    return { items: await this.entries(scope, items), nextCursor };
  }

  /** Returns the entry of the skill whose SKILL.md has this URI. Errors: 404; 400 if it has no entry. */
  async entry(scope: OrgScope, uri: string): Promise<SkillEntry> {
    const { skill, path } = await this.find(scope, uri);
    if (path !== SKILL_MD) throw problem.notFound('skill');
    const [entry] = await this.entries(scope, [skill]);
    if (entry) return entry;
    throw problem.invalidRequest(
      'The frontmatter of this skill cannot be represented in JSON. Read its SKILL.md with resources/read.',
    );
  }

  /** Lists the immediate files and directories of a directory of a skill, sorted by name. Errors: 404. */
  async children(scope: OrgScope, uri: string, cursor: string | undefined): Promise<ResourcePage<Resource>> {
    const { skill, path } = await this.find(scope, uri);
    const files = (await this.skills.filesOf(scope, [skill])).get(skill.skill_id)!;
    const prefix = path === '' ? '' : `${path}/`;
    const children = new Map<string, Resource>();
    for (const file of files.filter((one) => one.path.startsWith(prefix))) {
      const [name = '', ...deeper] = file.path.slice(prefix.length).split('/');
      const location = { skillId: skill.skill_id, name: skill.name, path: prefix + name };
      const kind =
        deeper.length > 0
          ? { mimeType: DIRECTORY_TYPE }
          : { mimeType: mediaTypeOf(file.path), size: file.size_bytes };
      children.set(name, { uri: skillUri(location), name, ...kind });
    }
    if (children.size === 0) throw problem.notFound('directory');
    const start = cursor === undefined ? 0 : offsetOf(cursor);
    const end = start + CHILDREN_PAGE;
    return {
      items: [...children.values()].slice(start, end),
      nextCursor: end < children.size ? String(end) : null,
    };
  }

  /** Reads a file of a skill. Errors: 404. */
  async read(scope: OrgScope, uri: string): Promise<ReadContent> {
    const { skill, path } = await this.find(scope, uri);
    const { file, bytes } = await this.skills.readFile(
      scope,
      skill.skill_id,
      skill.version_ordinal,
      path,
      0,
      RESOURCE_BYTES,
    );
    return {
      bytes,
      size: file.size_bytes,
      mimeType: mediaTypeOf(path),
      hint: 'Read it in parts with the tool read_skill_file.',
    };
  }

  /**
   * Returns the entries of skills. Leaves out skills whose frontmatter cannot be represented in JSON, because hosts
   * would reject an entry with a different frontmatter.
   */
  private async entries(scope: OrgScope, skills: readonly SkillDto[]): Promise<SkillEntry[]> {
    const [files, frontmatters] = await Promise.all([
      this.skills.filesOf(scope, skills.filter(hasListedFiles)),
      this.skills.frontmatters(scope, skills),
    ]);
    return skills.flatMap((skill) => {
      const frontmatter = frontmatters.get(skill.skill_id);
      return frontmatter ? entryOf(skill, frontmatter, files.get(skill.skill_id)) : [];
    });
  }

  private async find(scope: OrgScope, uri: string): Promise<{ skill: SkillDto; path: string }> {
    const location: SkillLocation | null = parseSkillUri(uri);
    if (!location) throw problem.notFound('skill');
    const { view: skill } = await this.skills.get(scope, location.skillId);
    if (skill.name !== location.name || skill.archived_at) throw problem.notFound('skill', location.skillId);
    return { skill, path: location.path };
  }

  private async page(
    scope: OrgScope,
    cursor: string | undefined,
    workspace_id: string | undefined,
  ): Promise<ResourcePage<SkillDto>> {
    const query = pageQuery(SkillListQueryDto, { limit: PAGE, cursor }, { workspace_id });
    const { items, page } = await this.skills.list(scope, query);
    return { items, nextCursor: page.next_cursor };
  }
}

const uriOf = ({ skill_id, name }: SkillDto, path: string): string =>
  skillUri({ skillId: skill_id, name, path });

const resourceOf = (skill: SkillDto): Resource => ({
  uri: uriOf(skill, SKILL_MD),
  name: skill.name,
  description: skill.description,
  mimeType: 'text/markdown',
});

const hasListedFiles = ({ file_count, size_bytes }: SkillDto): boolean =>
  file_count <= LISTED_FILES_MAX && size_bytes <= LISTED_BYTES_MAX;

/** Returns the entry of a skill. @param files all files of the skill, if they may be listed */
function entryOf(
  skill: SkillDto,
  frontmatter: Record<string, unknown>,
  files: readonly SkillFile[] | undefined,
): SkillEntry {
  const resources = files?.map(({ path, sha256, size_bytes }) => ({
    uri: uriOf(skill, path),
    digest: `sha256:${sha256}`,
    size: size_bytes,
  }));
  const length = resources?.reduce((sum, { uri }) => sum + uri.length, 0) ?? Infinity;
  return {
    uri: uriOf(skill, SKILL_MD),
    frontmatter,
    resources: length <= LISTED_URIS_MAX ? resources! : 'dynamic',
  };
}

function offsetOf(cursor: string): number {
  if (/^[1-9]\d{0,3}$/.test(cursor)) return Number(cursor);
  throw problem.invalidQuery('cursor', 'must be the nextCursor of the previous page');
}
