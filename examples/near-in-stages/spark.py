#!/usr/bin/env python3
"""Bands, sort and pairs of dedup in Spark: rdd.pipe() and its shuffle.

usage: spark.py DEDUP FILE... > pairs

Two worker processes on this machine (local-cluster), as on a real cluster:
nothing is shared but the lines.
"""
import shlex
import sys
import zlib

from pyspark.sql import SparkSession

NEAR = " --near --ngram 5 --bands 14 --rows 8 -q -j 1"
dedup, files = shlex.quote(sys.argv[1]), sys.argv[2:]
spark = (SparkSession.builder.master("local-cluster[2,1,1024]")
         .appName("near").getOrCreate())
sc = spark.sparkContext
docs = sc.union([sc.textFile(f) for f in files])
# checkCode: a program that fails must end the job, not shorten its output.
bands = docs.pipe(dedup + NEAR + " --emit bands", checkCode=True).distinct()
# Sorted in 8 partitions; the first 31 bytes decide which, so that no bucket is
# cut.
buckets = bands.map(lambda r: (r, None)).repartitionAndSortWithinPartitions(
    8, lambda r: zlib.crc32(r[:31].encode())).keys()
pairs = buckets.pipe(dedup + " --emit pairs", checkCode=True).distinct()
for line in sorted(pairs.collect()):
    print(line)
spark.stop()
