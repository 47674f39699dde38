import { Injectable } from '@nestjs/common';
import type { Resource } from '@modelcontextprotocol/server';
import type { OrgScope } from '#platform/auth';
import { problem } from '#platform/problem';
import { type SkillDto, SkillListQueryDto, type SkillManifest, SkillService } from '../../skills';
import { mediaTypeOf } from './media-type';
import { type ReadContent, RESOURCE_BYTES } from './read-content';
import { parseSkillUri, SKILL_MD, type SkillPlace, skillUri } from './skill-uri';

/** Skills on a page. */
const PAGE = 20;

/** Beyond these sizes, an entry does not list its files (SEP-2640). */
const LISTED_FILES_MAX = 512;
const LISTED_BYTES_MAX = 16 * 1024 * 1024;

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
    const manifests = await this.skills.manifests(scope, items, hasListedFiles);
    return { items: items.map((skill, i) => entryOf(skill, manifests[i]!)), nextCursor };
  }

  /** Returns the entry of the skill whose SKILL.md has this URI. Errors: 404. */
  async entry(scope: OrgScope, uri: string): Promise<SkillEntry> {
    const { skill, path } = await this.find(scope, uri);
    if (path !== SKILL_MD) throw problem.notFound('skill');
    const [manifest] = await this.skills.manifests(scope, [skill], hasListedFiles);
    return entryOf(skill, manifest!);
  }

  /** Lists the files and directories that lie directly in a directory of a skill. Errors: 404. */
  async children(scope: OrgScope, uri: string): Promise<Resource[]> {
    const { skill, path } = await this.find(scope, uri);
    const [manifest] = await this.skills.manifests(scope, [skill]);
    const prefix = path === '' ? '' : `${path}/`;
    const inside = manifest!.files.filter((file) => file.path.startsWith(prefix));
    if (inside.length === 0) throw problem.notFound('directory');
    const children = new Map<string, Resource>();
    for (const file of inside) {
      const [name = '', ...deeper] = file.path.slice(prefix.length).split('/');
      const place = { skillId: skill.skill_id, name: skill.name, path: prefix + name };
      const kind =
        deeper.length > 0
          ? { mimeType: DIRECTORY_TYPE }
          : { mimeType: mediaTypeOf(file.path), size: file.size_bytes };
      children.set(name, { uri: skillUri(place), name, ...kind });
    }
    return [...children.values()];
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

  private async find(scope: OrgScope, uri: string): Promise<{ skill: SkillDto; path: string }> {
    const place: SkillPlace | null = parseSkillUri(uri);
    if (!place) throw problem.notFound('skill');
    const { view: skill } = await this.skills.get(scope, place.skillId);
    if (skill.name !== place.name || skill.archived_at) throw problem.notFound('skill', place.skillId);
    return { skill, path: place.path };
  }

  private async page(
    scope: OrgScope,
    cursor: string | undefined,
    workspace_id: string | undefined,
  ): Promise<ResourcePage<SkillDto>> {
    const query = Object.assign(new SkillListQueryDto(), {
      limit: PAGE,
      ...(cursor !== undefined && { cursor }),
      ...(workspace_id !== undefined && { workspace_id }),
    });
    const { items, page } = await this.skills.list(scope, query);
    return { items, nextCursor: page.next_cursor };
  }
}

const placeOf = ({ skill_id, name }: SkillDto, path: string): string =>
  skillUri({ skillId: skill_id, name, path });

const resourceOf = (skill: SkillDto): Resource => ({
  uri: placeOf(skill, SKILL_MD),
  name: skill.name,
  description: skill.description,
  mimeType: 'text/markdown',
});

const hasListedFiles = ({ file_count, size_bytes }: SkillDto): boolean =>
  file_count <= LISTED_FILES_MAX && size_bytes <= LISTED_BYTES_MAX;

const entryOf = (skill: SkillDto, { files, frontmatter }: SkillManifest): SkillEntry => ({
  uri: placeOf(skill, SKILL_MD),
  frontmatter,
  resources: hasListedFiles(skill)
    ? files.map(({ path, sha256, size_bytes }) => ({
        uri: placeOf(skill, path),
        digest: `sha256:${sha256}`,
        size: size_bytes,
      }))
    : 'dynamic',
});
