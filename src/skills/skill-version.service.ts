import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { type Reply, streamed, type Versioned } from '#platform/http';
import type { ListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { SkillContents } from './content/skill-contents';
import type { SkillVersionRow } from './skill.entity';
import { toSkillVersionDetailDto, toSkillVersionDto } from './skill.mapper';
import { SkillService } from './skill.service';
import type { SkillVersionDetailDto, SkillVersionDto } from './skill-version.dto';
import { SkillVersionRepository } from './skill-version.repository';
import { ZIP_MEDIA } from './upload/skill-upload';

/** The versions of skills, which never change. */
@Injectable()
export class SkillVersionService {
  constructor(
    private readonly skills: SkillService,
    private readonly versions: SkillVersionRepository,
    private readonly contents: SkillContents,
  ) {}

  /** Newest first. */
  async list(scope: OrgScope, id: string, query: ListQueryDto): Promise<Page<SkillVersionDto>> {
    await this.skills.find(scope, id);
    const { rows, page } = await this.versions.list(scope, id, query);
    return { items: rows.map(toSkillVersionDto), page };
  }

  async get(scope: OrgScope, id: string, ordinal: number): Promise<Versioned<SkillVersionDetailDto>> {
    const row = await this.find(scope, id, ordinal);
    const files = await this.versions.files(scope, id, ordinal);
    return { view: toSkillVersionDetailDto(row, files), version: ordinal };
  }

  /** The files of a version as a zip archive, as a stream: of the same version the same bytes. */
  async archive(scope: OrgScope, id: string, ordinal: number): Promise<Reply> {
    const row = await this.find(scope, id, ordinal);
    const files = await this.versions.files(scope, id, ordinal);
    return streamed(this.contents.archive(scope, row.name, files), {
      type: ZIP_MEDIA,
      length: row.archive_bytes,
      filename: `${row.name}-v${ordinal}.zip`,
      sha256: row.archive_sha256,
    });
  }

  private async find(scope: OrgScope, id: string, ordinal: number): Promise<SkillVersionRow> {
    await this.skills.find(scope, id);
    const row = await this.versions.find(scope, id, ordinal);
    if (!row) throw problem.notFound('skill version', String(ordinal));
    return row;
  }
}
