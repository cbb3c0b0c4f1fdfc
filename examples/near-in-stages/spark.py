#!/usr/bin/env python3
"""Bands, sort and pairs of dedup in Spark: rdd.pipe() and sortBy.

usage: spark.py DEDUP FILE... > pairs

Two worker processes on this machine (local-cluster), as on a real cluster:
nothing is shared but the lines.
"""
import sys

from pyspark.sql import SparkSession

NEAR = " --near --ngram 5 --bands 14 --rows 8 -q -j 1"
dedup, files = sys.argv[1], sys.argv[2:]
spark = (SparkSession.builder.master("local-cluster[2,1,1024]")
         .appName("near").getOrCreate())
sc = spark.sparkContext
docs = sc.union([sc.textFile(f) for f in files])
bands = docs.pipe(dedup + NEAR + " --emit bands").distinct()
# A bucket must not be cut: its 31 bytes decide the partition.
buckets = bands.map(lambda r: (r[:31], r)).groupByKey(8).flatMap(
    lambda kv: sorted(kv[1])).mapPartitions(lambda it: sorted(it))
pairs = buckets.pipe(dedup + " --emit pairs").distinct()
for line in sorted(pairs.collect()):
    print(line)
spark.stop()
