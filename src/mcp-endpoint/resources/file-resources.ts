import { Injectable } from '@nestjs/common';
import type { Resource } from '@modelcontextprotocol/server';
import type { OrgScope } from '#platform/auth';
import { problem } from '#platform/problem';
import { type FileDto, FileListQueryDto, FileService } from '../../files';
import { pageQuery } from '../tools/lists';
import { type ReadContent, RESOURCE_BYTES } from './read-content';
import type { ResourcePage } from './skill-resources';

/** The number of files on a page. */
const PAGE = 50;

const PREFIX = 'registry://files/';

/** The template of the URIs of files. */
export const FILE_TEMPLATE = `${PREFIX}{file_id}`;

/** Files as resources. */
@Injectable()
export class FileResources {
  constructor(private readonly files: FileService) {}

  async list(
    scope: OrgScope,
    cursor: string | undefined,
    workspace_id?: string,
  ): Promise<ResourcePage<Resource>> {
    const query = pageQuery(FileListQueryDto, { limit: PAGE, cursor }, { workspace_id });
    const { items, page } = await this.files.list(scope, query);
    return { items: items.map(resourceOf), nextCursor: page.next_cursor };
  }

  /** Returns whether a URI has the form of a file's URI. */
  matches(uri: string): boolean {
    return uri.startsWith(PREFIX);
  }

  /** Reads the newest content of a file. Errors: 404, 503. */
  async read(scope: OrgScope, uri: string): Promise<ReadContent> {
    const id = uri.slice(PREFIX.length);
    const { view } = await this.files.get(scope, id);
    if (view.archived_at) throw problem.notFound('file', id);
    const hint = `Read it in parts with the tool read_file, or download it from /file/v1/files/${id}/content.`;
    const { size_bytes: size, media_type: mimeType, version_ordinal } = view;
    // the content of a file that is too large is not read
    if (size > RESOURCE_BYTES) return { bytes: Buffer.alloc(0), size, mimeType, hint };
    const { bytes } = await this.files.readPart(scope, id, version_ordinal, 0, RESOURCE_BYTES);
    return { bytes, size, mimeType, hint };
  }
}

const resourceOf = (file: FileDto): Resource => ({
  uri: PREFIX + file.file_id,
  name: file.name,
  mimeType: file.media_type,
  size: file.size_bytes,
  annotations: { lastModified: file.updated_at.toISOString() },
});
