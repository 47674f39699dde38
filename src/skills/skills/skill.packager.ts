import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import {
  type ArtifactReference,
  type InstalledArtifact,
  type InstalledCopy,
  type PackedFiles,
  type Packager,
  Packagers,
  type PinnedArtifact,
  type UnpackedComponent,
} from '../../resources';
import { SkillContents } from '../content/skill-contents';
import { contentOfDirectory, type SkillContent } from '../format/skill-content';
import type { UploadedFile } from '../format/skill-files';
import { SkillRepository } from './skill.repository';
import { SkillService } from './skill.service';

/** Packs the files of a version unchanged, and installs them as a skill. */
@Injectable()
export class SkillPackager implements Packager {
  readonly kind = 'skill';
  readonly directory = 'skills';

  constructor(
    packagers: Packagers,
    private readonly skills: SkillRepository,
    private readonly contents: SkillContents,
    private readonly service: SkillService,
  ) {
    packagers.add(this);
  }

  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const pinned = await this.skills.published.pin(tx, scope, reference);
    if (!pinned) return null;
    const { row, version } = pinned;
    return {
      kind: this.kind,
      artifact_id: row.skill_id,
      version_id: version.version_id,
      version_ordinal: version.version_ordinal,
      name: version.name,
      acquired_from: row.acquired_from,
      dependencies: [],
      content: null,
    };
  }

  async files(
    on: SqlExecutor,
    scope: Scope,
    { artifact_id, version_ordinal }: PinnedArtifact,
  ): Promise<PackedFiles> {
    const files = await this.skills.files(scope, artifact_id, version_ordinal, on);
    const read = this.contents.reader(on, scope, files);
    return {
      files: files.map((file) => ({
        path: file.path,
        size_bytes: file.size_bytes,
        sha256: file.sha256,
        content: () => read(file),
      })),
    };
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return this.skills.published.findCopies(tx, scope, artifactIds);
  }

  /** Holds the files of the skill in memory, at most 32 MiB. */
  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    return this.service.install(tx, scope, component, await contentIn(component));
  }
}

async function contentIn({ files }: UnpackedComponent): Promise<SkillContent> {
  const unpacked: UploadedFile[] = [];
  for await (const { path, content } of files) unpacked.push({ path, content: await buffer(content) });
  return contentOfDirectory(unpacked);
}
