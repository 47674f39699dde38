import { Module } from '@nestjs/common';
import { OpenApiController } from './openapi.controller';
import { OpenApiSource } from './openapi.source';

@Module({ controllers: [OpenApiController], providers: [OpenApiSource] })
export class OpenApiModule {}
