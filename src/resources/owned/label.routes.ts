import { Body, Delete, HttpCode, Param, Put, type Type } from '@nestjs/common';
import { ApiHeader, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { IfMatch, type Versioned } from '#platform/http';
import { Throws } from '#platform/problem';
import { PutLabelDto } from './labelled.dto';
import { LABEL_MAX, LABEL_PATTERN, pathLabel, type VersionName } from './version-name';

/** Declares a path in which a label may stand for the number of a version. */
export const TakesVersionName = (): MethodDecorator =>
  ApiParam({
    name: 'version_ordinal',
    description: 'The number of a version, a label that points to it, or `latest`.',
    schema: { type: 'string' },
  });

const LABEL = ApiParam({
  name: 'label',
  description: 'The name of the label, other than `latest`.',
  schema: { type: 'string', maxLength: LABEL_MAX, pattern: LABEL_PATTERN.source },
});

const IF_MATCH = ApiHeader({
  name: 'If-Match',
  required: false,
  description: 'The ETag of the version that you change. Returns 412 if the resource has changed since.',
});

interface LabelRoutes<View> {
  /** The parameter of the path that identifies the resource. */
  param: string;
  /** The resource in summaries, with its article: `an agent`. */
  noun: string;
  view: Type<View>;
}

/** The part of a `LabelledService` that the routes call. */
interface LabelService<View> {
  setLabel(
    scope: OrgScope,
    id: string,
    label: string,
    version: VersionName,
    ifMatch?: string,
  ): Promise<Versioned<View>>;
  deleteLabel(scope: OrgScope, id: string, label: string, ifMatch?: string): Promise<void>;
}

/** Returns the base of a controller at `…/:id/labels`, with the routes that set and delete a label. */
export function LabelController<View>({ param, noun, view }: LabelRoutes<View>) {
  class Routes {
    constructor(private readonly resources: LabelService<View>) {}

    @Put(':label')
    @Throws('conflict', 'validation_failed')
    @RequireRoleSomewhere('editor')
    @LABEL
    @IF_MATCH
    @ApiOperation({
      summary: `Point a label to a version of ${noun}`,
      description:
        'Moves the label if it points to another version. Labels in `protected_labels` of the organization require the role `admin`.',
    })
    @ApiOkResponse({ type: view })
    put(
      @CurrentScope() scope: OrgScope,
      @Param(param) id: string,
      @Param('label') label: string,
      @Body() { version_ordinal }: PutLabelDto,
      @IfMatch() ifMatch?: string,
    ): Promise<Versioned<View>> {
      return this.resources.setLabel(scope, id, pathLabel(label), version_ordinal, ifMatch);
    }

    @Delete(':label')
    @HttpCode(204)
    @Throws('conflict')
    @RequireRoleSomewhere('editor')
    @LABEL
    @IF_MATCH
    @ApiOperation({
      summary: `Delete a label of ${noun}`,
      description: 'Labels in `protected_labels` of the organization require the role `admin`.',
    })
    @ApiNoContentResponse()
    delete(
      @CurrentScope() scope: OrgScope,
      @Param(param) id: string,
      @Param('label') label: string,
      @IfMatch() ifMatch?: string,
    ): Promise<void> {
      return this.resources.deleteLabel(scope, id, pathLabel(label), ifMatch);
    }
  }
  return Routes;
}
