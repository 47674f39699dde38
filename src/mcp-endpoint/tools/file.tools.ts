import { Injectable } from '@nestjs/common';
import { FileListQueryDto, FileService } from '../../files';
import { listTool, membersOf } from './lists';
import { NEXT_OFFSET, OFFSET_INPUT, pageOfContent, READ_BYTES } from './text-pages';
import { ID, INTEGER, STRING, STRING_OR_NULL, tool, VERSION_INPUT } from './tool';

interface ReadArguments {
  file_id: string;
  version_ordinal?: number;
  offset?: number;
}

const FILE = {
  file_id: STRING,
  name: STRING,
  media_type: STRING,
  size_bytes: INTEGER,
  version_ordinal: INTEGER,
};

/** The tools that read files. */
@Injectable()
export class FileTools {
  constructor(private readonly files: FileService) {}

  readonly tools = [
    listTool({
      name: 'list_files',
      title: 'List files',
      description:
        'Lists the files that were uploaded to the workspace, newest first. They are not the files of your own machine. Use it to find documents and data. Then call read_file for the text of one.',
      filters: {
        media_type: {
          type: 'string',
          maxLength: 255,
          description: 'Only files of this media type, such as text/csv.',
        },
      },
      anyOf: ['viewer', 'runtime'],
      item: FILE,
      query: FileListQueryDto,
      list: ({ scope }, query) => this.files.list(scope, { ...query, workspace_id: scope.workspaceId }),
    }),
    tool<ReadArguments>({
      name: 'read_file',
      title: 'Read a file',
      description:
        'Returns the text of an uploaded file of the workspace, not of your own machine, in parts of 64 KiB. Pass next_offset as offset to read on. The text of a binary file is null: download it from content_url instead.',
      input: {
        file_id: { ...ID, description: 'From list_files or search_registry.' },
        version_ordinal: VERSION_INPUT,
        ...OFFSET_INPUT,
      },
      required: ['file_id'],
      output: {
        ...FILE,
        text: STRING_OR_NULL,
        next_offset: NEXT_OFFSET,
        content_url: { ...STRING, description: 'The path of the download, relative to the base URL.' },
      },
      anyOf: ['viewer', 'runtime'],
      run: async ({ scope, args: { file_id, version_ordinal, offset = 0 } }) => {
        const part = await this.files.readPart(scope, file_id, version_ordinal, offset, READ_BYTES);
        const { size_bytes, version_ordinal: ordinal } = part.file;
        return {
          ...membersOf(part.file, FILE),
          ...pageOfContent(part.bytes, offset, size_bytes),
          content_url: `/file/v1/files/${file_id}/versions/${ordinal}/content`,
        };
      },
    }),
  ];
}
