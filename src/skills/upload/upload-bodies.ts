import { MULTIPART_MEDIA } from '#platform/http';
import { JSON_MEDIA, ZIP_MEDIA } from './skill-upload';

/** The schemas of an upload's three forms. @param json of the one as JSON */
export const uploadBodies = (json: object, required: string[]): Record<string, object> => ({
  [JSON_MEDIA]: json,
  [MULTIPART_MEDIA]: {
    type: 'object',
    description:
      'The files of the directory: parts with a filename, of whatever names, whose filename is the path. Directories that all of them lie in are left out. Or one part that is a .zip file.',
    properties: {
      workspace_id: { type: 'string' },
      file: { type: 'array', items: { type: 'string', contentMediaType: 'application/octet-stream' } },
    },
    required: [...required, 'file'],
  },
  [ZIP_MEDIA]: {
    type: 'string',
    contentMediaType: ZIP_MEDIA,
    description: `A zip archive of the directory, with SKILL.md at its top or in one directory.${required.length > 0 ? ' The workspace goes in the query.' : ''}`,
  },
});
