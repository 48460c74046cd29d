"""x"""
def create(v, r): pass
def update(v, o, r): pass
def update_status(v,o,r): pass
