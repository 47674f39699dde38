import { Injectable } from '@nestjs/common';
import { LABEL_MAX, LABEL_PATTERN, LATEST, pick, type VersionName } from '../../resources';
import { SkillListQueryDto, SkillService } from '../../skills';
import { LIST_OFFSET_INPUT, listTool, membersOf, NEXT_LIST_OFFSET, partOfLists } from './lists';
import { NEXT_OFFSET, OFFSET_INPUT, pageOfContent, pageOfString, READ_BYTES } from './text-pages';
import { ID, INTEGER, objectOf, STRING, STRING_OR_NULL, tool, VERSION_INPUT } from './tool';

interface GetArguments {
  skill_id: string;
  version_ordinal?: VersionName;
  offset?: number;
  list_offset?: number;
}

const VERSION_NAME_INPUT = {
  ...VERSION_INPUT,
  type: ['integer', 'string'],
  maxLength: LABEL_MAX,
  pattern: LABEL_PATTERN.source,
  description: 'A number, a label such as production, or latest. Default: the newest version.',
};

const SKILL = { skill_id: STRING, name: STRING, description: STRING, version_ordinal: INTEGER };

/** The tools that read skills and their files. */
@Injectable()
export class SkillTools {
  constructor(private readonly skills: SkillService) {}

  readonly tools = [
    listTool({
      name: 'list_skills',
      title: 'List skills',
      description:
        'Lists the skills of the workspace, newest first, with what each one is for. A skill (playbook, guide) is a set of instructions and files for one kind of task. Use it to see which skills exist. Then call get_skill before you do a task that a skill describes.',
      anyOf: ['viewer', 'runtime'],
      item: SKILL,
      query: SkillListQueryDto,
      list: ({ scope }, query) => this.skills.list(scope, { ...query, workspace_id: scope.workspaceId }),
    }),
    tool<GetArguments>({
      name: 'get_skill',
      title: 'Get a skill',
      description:
        'Returns the instructions of a skill (its SKILL.md) and the list of its files. Follow the instructions when you do the task. Call read_skill_file for a file that they mention.',
      input: {
        skill_id: { ...ID, description: 'From list_skills, search_registry or get_agent.' },
        version_ordinal: VERSION_NAME_INPUT,
        ...OFFSET_INPUT,
        ...LIST_OFFSET_INPUT,
      },
      required: ['skill_id'],
      output: {
        ...SKILL,
        instructions: { ...STRING, description: 'Markdown.' },
        next_offset: NEXT_OFFSET,
        license: STRING_OR_NULL,
        compatibility: STRING_OR_NULL,
        allowed_tools: { type: ['array', 'null'], items: STRING },
        files: { type: 'array', items: objectOf({ path: STRING, size_bytes: INTEGER }) },
        file_count: INTEGER,
        next_list_offset: NEXT_LIST_OFFSET,
      },
      anyOf: ['viewer', 'runtime'],
      run: async ({ scope, args: { skill_id, version_ordinal = LATEST, offset = 0, list_offset } }) => {
        const { view } = await this.skills.getVersion(scope, skill_id, version_ordinal);
        const { text, next_offset } = pageOfString(view.instructions, offset);
        return {
          ...membersOf(view, SKILL),
          instructions: text,
          next_offset,
          ...pick(view, ['license', 'compatibility', 'allowed_tools']),
          ...partOfLists(
            { files: view.files.map(({ path, size_bytes }) => ({ path, size_bytes })) },
            list_offset,
          ),
          file_count: view.files.length,
        };
      },
    }),
    tool<GetArguments & { path: string }>({
      name: 'read_skill_file',
      title: 'Read a file of a skill',
      description:
        'Returns the text of one file of a skill, such as a reference or a script that its instructions mention. Call get_skill first for the paths.',
      input: {
        skill_id: ID,
        path: {
          type: 'string',
          minLength: 1,
          maxLength: 1024,
          description: 'A path from get_skill, such as references/api.md.',
        },
        version_ordinal: VERSION_NAME_INPUT,
        ...OFFSET_INPUT,
      },
      required: ['skill_id', 'path'],
      output: {
        skill_id: STRING,
        version_ordinal: INTEGER,
        path: STRING,
        size_bytes: INTEGER,
        text: { ...STRING_OR_NULL, description: 'Null for a binary file.' },
        next_offset: NEXT_OFFSET,
        content_url: {
          ...STRING_OR_NULL,
          description:
            'For a binary file: the path of the whole skill as a zip archive, relative to the base URL.',
        },
      },
      anyOf: ['viewer', 'runtime'],
      run: async ({ scope, args: { skill_id, path, version_ordinal = LATEST, offset = 0 } }) => {
        const part = await this.skills.readFile(scope, skill_id, version_ordinal, path, offset, READ_BYTES);
        const { file, version_ordinal: ordinal } = part;
        const page = pageOfContent(part.bytes, offset, file.size_bytes);
        return {
          skill_id,
          version_ordinal: ordinal,
          path: file.path,
          size_bytes: file.size_bytes,
          ...page,
          content_url: page.text !== null ? null : `/skill/v1/skills/${skill_id}/versions/${ordinal}/content`,
        };
      },
    }),
  ];
}
