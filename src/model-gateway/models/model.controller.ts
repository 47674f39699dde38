import { Body, Controller, Get, Param, Patch, Post, Query, Req } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiParam, ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { GatewayProblemDto } from '../gateway-problem.dto';
import {
  AllowedBy,
  CurrentScope,
  type OrgScope,
  RequireRoleSomewhere,
  workspaceInHeader,
} from '#platform/auth';
import { created, IfMatch, type Reply, type ServiceRequest, type Versioned } from '#platform/http';
import { CreatesNamed, CreationQueryDto, LifecycleController } from '../../resources';
import { ModelDto, ModelPageDto } from './model-view.dto';
import { CreateModelDto, ModelListQueryDto, NAMES_HEADER, PatchModelDto } from './model.dto';
import { ModelService } from './model.service';

@ApiTags('Model gateway')
@ApiExtraModels(GatewayProblemDto)
@Controller('model/v1/models')
export class ModelController extends LifecycleController({
  param: 'model_id',
  view: ModelDto,
  archive: {
    summary: 'Archive a model',
    description: 'Clients can no longer call the model.',
  },
  restore: { summary: 'Restore an archived model' },
  delete: { summary: 'Delete an archived model' },
}) {
  constructor(private readonly models: ModelService) {
    super(models);
  }

  /** Create a model, which clients call by its name */
  @Post()
  @RequireRoleSomewhere('admin')
  @CreatesNamed(ModelDto)
  async create(
    @CurrentScope() scope: OrgScope,
    @Body() dto: CreateModelDto,
    @Query() { on_conflict }: CreationQueryDto,
  ): Promise<Reply> {
    const model = await this.models.create(scope, dto, on_conflict);
    return created(`/model/v1/models/${model.view.model_id}`, model);
  }

  /**
   * List models
   *
   * @remarks Compatible with OpenAI's clients. A key without the area `read`, such as a gateway key, lists only the models that it may call.
   */
  @Get()
  @AllowedBy('read', 'models')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: ModelPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: ModelListQueryDto): Promise<ModelPageDto> {
    return this.models.list(scope, query);
  }

  /** Get a model by its id or its name */
  @Get(':model_id')
  @AllowedBy('read', 'models')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiParam({
    name: 'model_id',
    description:
      'The id of a model, or the name of a model that is not archived. Returns 400 if models in several workspaces have this name: send the id, or the workspace.',
  })
  @ApiHeader(NAMES_HEADER)
  @ApiOkResponse({ type: ModelDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Param('model_id') idOrName: string,
    @Req() { headers }: ServiceRequest,
  ): Promise<Versioned<ModelDto>> {
    return this.models.get(scope, idOrName, workspaceInHeader(headers));
  }

  /** Change a model */
  @Patch(':model_id')
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ModelDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('model_id') id: string,
    @Body() dto: PatchModelDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<ModelDto>> {
    return this.models.patch(scope, id, dto, ifMatch);
  }
}
