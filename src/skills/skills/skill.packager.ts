import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import {
  type InstalledArtifact,
  OwnedPackager,
  type PackedFiles,
  Packagers,
  type PinnedArtifact,
  type UnpackedComponent,
} from '../../resources';
import { SkillContents } from '../content/skill-contents';
import { contentOfDirectory, type SkillContent } from '../format/skill-content';
import type { UploadedFile } from '../format/skill-files';
import type { SkillEntity, SkillVersionRow } from './skill.entity';
import { SkillRepository } from './skill.repository';
import { SkillService } from './skill.service';

/** Packs the files of a version unchanged, and installs them as a skill. */
@Injectable()
export class SkillPackager extends OwnedPackager<SkillEntity, SkillVersionRow> {
  constructor(
    packagers: Packagers,
    private readonly skills: SkillRepository,
    private readonly contents: SkillContents,
    private readonly service: SkillService,
  ) {
    super(packagers, 'skill', skills);
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

  protected override partsOf() {
    return { content: null };
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
