import type { Pages } from '../api/calls.cjs';
import type { Skill, SkillVersionDetail, SkillVersion } from '../api/types.cjs';
import { needNodeModule } from '../core/node.js';
import { idOrName, type ListOf, Resource } from './resource.js';
import { readStoredZip } from './stored-zip.js';

/** Skills: directories with a SKILL.md, and their versions. */
export class Skills extends Resource {
  /** Lists the skills of the workspace, newest first. */
  list(filters: ListOf<'listSkills'> = {}): Pages<Skill> {
    return this.api.listSkills({ ...this.workspace, ...filters });
  }

  /** Returns the newest version of a skill, by its name or id. Throws 404 if there is none. */
  get(skill: string): Promise<Skill> {
    return this.api.getSkill({ skill_id: idOrName(skill) });
  }

  /** Lists the versions of a skill, newest first. */
  versions(skill: string): Pages<SkillVersion> {
    return this.api.listSkillVersions({ skill_id: idOrName(skill) });
  }

  /**
   * Uploads a directory as the newest version of the skill that its SKILL.md names, and creates the skill if it is missing.
   * A directory that has not changed makes no version. Hidden files and `node_modules` are left out; a link throws.
   *
   * @param label a label that names this version from now on, such as `production`
   */
  async push(directory: string, { label }: { label?: string } = {}): Promise<Skill> {
    const form = new FormData();
    for (const [path, bytes] of await readDirectory(directory))
      form.append('file', new Blob([bytes]), `skill/${path}`);
    const skill = await this.api.createSkill({ on_conflict: 'update', body: form });
    if (label === undefined) return skill;
    const { skill_id, version_ordinal } = skill;
    return this.api.setSkillLabel({ skill_id, label, body: { version_ordinal } });
  }

  /**
   * Downloads a version of a skill to the directory `<to>/<name of the skill>`, and returns that path. An older copy of the
   * skill there is replaced as a whole, when every file has arrived and has the right digest.
   *
   * @param version a number or a label; by default the newest
   */
  async pull(
    skill: string,
    { to, version = 'latest' }: { to: string; version?: number | string },
  ): Promise<string> {
    const { skill_id } = await this.get(skill);
    const detail = await this.api.getSkillVersion({ skill_id, version_ordinal: version });
    const { version_ordinal } = detail; // a label may move meanwhile
    const response = await this.api.getSkillVersionContent({ skill_id, version_ordinal });
    const archive = readStoredZip(new Uint8Array(await response.arrayBuffer()));
    return replaceDirectory(to, detail.name, checkedFiles(detail, archive));
  }
}

/** Returns the files of a version. Throws unless they are exactly those that the service lists, at paths below the skill. */
function checkedFiles(
  { name, files }: SkillVersionDetail,
  archive: Map<string, Uint8Array>,
): Map<string, Uint8Array> {
  const { createHash } = needNodeModule('crypto');
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))
    throw new Error(`${JSON.stringify(name)} is not a valid skill name.`);
  const checked = new Map<string, Uint8Array>();
  for (const { path, sha256 } of files) {
    const content = archive.get(`${name}/${path}`);
    const isSafe =
      path.split('/').every((part) => part !== '' && part !== '.' && part !== '..') && !/[\\:\0]/.test(path);
    if (!isSafe) throw new Error(`The skill ${name} has a file at the unsafe path ${JSON.stringify(path)}.`);
    if (!content || createHash('sha256').update(content).digest('hex') !== sha256)
      throw new Error(
        `The file ${path} of the skill ${name} does not have the digest that the service lists.`,
      );
    checked.set(path, content);
  }
  if (checked.size !== archive.size)
    throw new Error(`The archive of the skill ${name} has files that are not listed.`);
  return checked;
}

/** Writes files to a new directory, and puts it in the place of the old one. */
async function replaceDirectory(to: string, name: string, files: Map<string, Uint8Array>): Promise<string> {
  const path = needNodeModule('path');
  const { existsSync, promises } = needNodeModule('fs');
  const target = path.join(to, name);
  if (existsSync(target) && !existsSync(path.join(target, 'SKILL.md')))
    throw new Error(
      `${target} is not a skill: it has no SKILL.md. Move it away, or pull to another directory.`,
    );
  const [incoming, outgoing] = ['new', 'old'].map((word) =>
    path.join(to, `.${name}-${word}-${crypto.randomUUID()}`),
  ) as [string, string];
  try {
    for (const [file, content] of files) {
      const full = path.join(incoming, file);
      await promises.mkdir(path.dirname(full), { recursive: true });
      await promises.writeFile(full, content, { flag: 'wx' });
    }
    const isReplaced = existsSync(target);
    if (isReplaced) await promises.rename(target, outgoing);
    await promises.rename(incoming, target).catch(async (error: unknown) => {
      if (isReplaced) await promises.rename(outgoing, target);
      throw error;
    });
    if (isReplaced) await promises.rm(outgoing, { recursive: true });
  } finally {
    await promises.rm(incoming, { recursive: true, force: true });
  }
  return target;
}

/** Reads the files of a directory, by their paths with slashes. */
async function readDirectory(directory: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const path = needNodeModule('path');
  const { promises } = needNodeModule('fs');
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const visit = async (below: string): Promise<void> => {
    for (const entry of await promises.readdir(path.join(directory, below), { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const file = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await visit(file);
      else if (entry.isFile()) files.set(file, await promises.readFile(path.join(directory, file)));
      else
        throw new Error(
          `${path.join(directory, file)} is not a regular file. Replace it by a file, or remove it.`,
        );
    }
  };
  await visit('');
  return files;
}
